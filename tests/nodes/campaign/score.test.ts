import { describe, expect, it } from 'vitest';

import type { Attempt, Sent } from '../send-until-taken.ts';
import type { Binding } from '../reconnecting-mac.ts';
import { FLAWLESS, judge } from './score.ts';
import type { AgentLedger, CrmLedger, Ledgers, MacLedger, Violations } from './score.ts';

/** Ledgers of a run without a fault: one scripted Mac, one agent, one message each way for each. Tests plant a violation. */
class Run {
  readonly binding: Binding = {
    device: 'mac-a',
    askedAt: 10,
    boundAt: 20,
    droppedAt: Infinity,
    nodeKilledAt: Infinity,
    aloneSince: Infinity,
  };
  readonly stored = [stored('mac-a 0 1', 100), stored('mac-a 0 2', 200), stored('agent 0 1', 100, 'loc2')];
  readonly statuses = new Map<string, { status: string; error?: unknown }[]>([
    ['m1', [{ status: 'pending' }, { status: 'delivered' }]],
    ['m2', [{ status: 'pending' }, { status: 'delivered' }]],
  ]);
  readonly macs: MacLedger[] = [
    {
      device: 'mac-a',
      locationId: 'loc1',
      bindings: [this.binding],
      heard: [{ requestId: 'r1', messageId: 'm1', binding: this.binding, again: false, at: 0 }],
      said: new Map([['mac-a 0', ['mac-a 0 1', 'mac-a 0 2']]]),
    },
  ];
  agent: AgentLedger = {
    locationId: 'loc2',
    said: new Map([['agent 0', ['agent 0 1']]]),
    bindings: [{ ...this.binding, device: 'agent' }],
    received: new Set(['r2']),
    interrupted: new Set(),
    sentTexts: ['out m2'],
  };
  readonly sent: Sent[] = [
    sentMessage('m1', 'loc1', [attempt(200, 'r1')]),
    sentMessage('m2', 'loc2', [attempt(200, 'r2')]),
  ];

  heard(requestId: string, messageId: string, binding = this.binding): void {
    this.#replaceMac({ heard: [...this.#mac.heard, { requestId, messageId, binding, again: false, at: 0 }] });
  }

  hearNothing(): void {
    this.#replaceMac({ heard: [] });
  }

  /** The agent got no frame, and its connection or node ended. */
  forgetAtAgent(end: Partial<Binding>): void {
    const bindings = [{ ...this.binding, device: 'agent', ...end }];
    this.agent = { ...this.agent, bindings, received: new Set(), sentTexts: [] };
    this.statuses.set('m2', [{ status: 'pending' }]);
  }

  bind(binding: Binding): void {
    this.#replaceMac({ bindings: [...this.#mac.bindings, binding] });
  }

  get ledgers(): Ledgers {
    const crm: CrmLedger = {
      messages: this.stored,
      accepted: (messageId) => this.statusesOf(messageId).map(({ status }) => status),
      statusesOf: (messageId) => this.statusesOf(messageId),
    };
    return { crm, macs: this.macs, agents: [this.agent], sent: this.sent, startedAt: 0 };
  }

  private statusesOf(messageId: string) {
    return (this.statuses.get(messageId) ?? []).map((one) => ({ ...one, accepted: true, at: 0 }));
  }

  get #mac(): MacLedger {
    const [mac] = this.macs;
    if (mac === undefined) throw new Error('a run has a Mac');
    return mac;
  }

  #replaceMac(change: Partial<MacLedger>): void {
    this.macs[0] = { ...this.#mac, ...change };
  }
}

/** The CRM records wall-clock times. */
const stored = (message: string, at: number, locationId = 'loc1') => ({
  message,
  locationId,
  at: performance.timeOrigin + at,
});
const attempt = (status: number | string, requestId: string, askedAt = 50): Attempt => ({
  askedAt,
  answeredAt: askedAt + 10,
  status,
  requestId,
});
const sentMessage = (messageId: string, locationId: string, attempts: readonly Attempt[]): Sent => ({
  messageId,
  locationId,
  text: `out ${messageId}`,
  attempts,
});

function violationsOf(plant: (run: Run) => void): Partial<Violations> {
  const run = new Run();
  plant(run);
  const { violations, evidence } = judge(run.ledgers);
  const found = Object.entries(violations).filter(([, count]) => count > 0);
  // Each violation comes with evidence.
  expect(evidence).toHaveLength(found.reduce((sum, [, count]) => sum + count, 0));
  return Object.fromEntries(found);
}

describe('the score of a campaign', () => {
  it('finds nothing in a run without a violation', () => {
    expect(judge(new Run().ledgers)).toMatchObject({
      inbound: 3,
      outbound: 2,
      atOnce: 2,
      violations: FLAWLESS,
      evidence: [],
      codes: { 200: 2 },
    });
  });

  const later: Binding = {
    device: 'mac-b',
    askedAt: 40,
    boundAt: 45,
    droppedAt: Infinity,
    nodeKilledAt: Infinity,
    aloneSince: Infinity,
  };

  it.each<[string, Partial<Violations>, (run: Run) => void]>([
    ['an inbound message that the CRM does not have', { lost: 1 }, (run) => void run.stored.pop()],
    [
      'an inbound message that the CRM has twice',
      { doubled: 1 },
      (run) => run.stored.push(stored('mac-a 0 2', 300)),
    ],
    [
      'two messages of a chat in the wrong order',
      { order: 1 },
      (run) => void run.stored.splice(0, 2, stored('mac-a 0 2', 100), stored('mac-a 0 1', 200)),
    ],
    [
      'an outbound message that was never taken',
      { lost: 1 },
      (run) => {
        run.hearNothing();
        run.sent[0] = sentMessage('m1', 'loc1', [attempt(503, 'r1')]);
      },
    ],
    ['a frame that is on the socket twice', { doubled: 1 }, (run) => run.heard('r1', 'm1')],
    [
      'a second frame although the first request was answered 200',
      { doubled: 1 },
      (run) => {
        run.sent[0] = sentMessage('m1', 'loc1', [attempt(200, 'r1'), attempt(200, 'r3', 70)]);
        run.heard('r3', 'm1');
      },
    ],
    ['a 200 without a frame', { false200: 1 }, (run) => run.hearNothing()],
    [
      'a 200 whose frame is not sent again when the Mac comes back after a broken connection',
      { false200: 1 },
      (run) => {
        run.hearNothing();
        run.binding.droppedAt = 55;
        run.bind({ ...run.binding, askedAt: 140, boundAt: 145, droppedAt: Infinity });
      },
    ],
    [
      'a 404 although the Mac got the frame',
      { false404: 1, doubled: 1 },
      (run) => {
        run.sent[0] = sentMessage('m1', 'loc1', [attempt(404, 'r1'), attempt(200, 'r3', 70)]);
        run.hearNothing();
        run.heard('r1', 'm1');
        run.heard('r3', 'm1');
      },
    ],
    ['a frame for the former owner of a location', { owners: 1 }, (run) => run.bind(later)],
    [
      'an inbound message of the former owner after one of the newer',
      { owners: 1 },
      (run) => {
        run.macs.push({
          device: 'mac-b',
          locationId: 'loc1',
          bindings: [{ ...later, askedAt: 140, boundAt: 145 }],
          heard: [],
          said: new Map([['mac-b 0', ['mac-b 0 1']]]),
        });
        run.stored.splice(1, 0, stored('mac-b 0 1', 150));
      },
    ],
    [
      'a message whose last status is failed',
      { statuses: 1 },
      (run) => run.statuses.set('m1', [{ status: 'pending' }, { status: 'failed' }]),
    ],
    [
      'a message without a terminal status',
      { statuses: 1 },
      (run) => run.statuses.set('m2', [{ status: 'pending' }]),
    ],
    [
      'failed after delivered',
      { statuses: 1, terminals: 1 },
      (run) => run.statuses.set('m1', [{ status: 'pending' }, { status: 'delivered' }, { status: 'failed' }]),
    ],
    [
      'two terminal statuses for one attempt',
      { statuses: 1, terminals: 1 },
      (run) => run.statuses.set('m1', [{ status: 'pending' }, { status: 'failed' }, { status: 'delivered' }]),
    ],
    [
      'a message that the agent never sent',
      { lost: 1 },
      (run) => (run.agent = { ...run.agent, sentTexts: [] }),
    ],
    [
      'a message that the agent saved and never sent, although the node was killed',
      { lost: 1, statuses: 1 },
      (run) => {
        run.forgetAtAgent({ droppedAt: 5000, nodeKilledAt: 9000 });
        run.agent = { ...run.agent, received: new Set(['r2']) };
      },
    ],
    [
      'a 200 for an agent whose node was killed long after',
      { lost: 1, statuses: 1 },
      (run) => run.forgetAtAgent({ nodeKilledAt: 9000 }),
    ],
    [
      'a 200 for an agent whose node was killed when the others had copies of the frame',
      { lost: 1, statuses: 1 },
      (run) => run.forgetAtAgent({ droppedAt: 500, nodeKilledAt: 1100 }),
    ],
    [
      'a 200 on a broken connection whose node was killed when the others had copies of the frame',
      { false200: 1 },
      (run) => {
        run.hearNothing();
        Object.assign(run.binding, { droppedAt: 55, nodeKilledAt: 1100 });
        run.bind({ ...later, device: 'mac-a', askedAt: 1240, boundAt: 1245 });
      },
    ],
    [
      'a 200 whose node was killed after another one had the frame',
      { false200: 1 },
      (run) => {
        run.hearNothing();
        Object.assign(run.binding, { droppedAt: 55, nodeKilledAt: 12_000 });
        run.bind({ ...run.binding, askedAt: 140, boundAt: 145, droppedAt: Infinity, nodeKilledAt: Infinity });
      },
    ],
    [
      'a 200 long before the node was killed',
      { false200: 1 },
      (run) => {
        run.hearNothing();
        run.binding.nodeKilledAt = 1100;
      },
    ],
    [
      'a message that the agent sent twice',
      { doubled: 1 },
      (run) => (run.agent = { ...run.agent, sentTexts: ['out m2', 'out m2'] }),
    ],
  ])('finds %s', (_, expected, plant) => {
    expect(violationsOf(plant)).toEqual(expected);
  });

  it.each<[string, (run: Run) => void]>([
    [
      'a second frame after an uncertain answer',
      (run) => {
        run.sent[0] = sentMessage('m1', 'loc1', [attempt(503, 'r1'), attempt(200, 'r3', 70)]);
        run.heard('r3', 'm1');
      },
    ],
    [
      'failed for a 404 and delivered for the next attempt',
      (run) => {
        run.sent[0] = sentMessage('m1', 'loc1', [attempt(404, 'r0'), attempt(200, 'r1', 70)]);
        run.statuses.set('m1', [{ status: 'failed' }, { status: 'pending' }, { status: 'delivered' }]);
      },
    ],
    [
      'a status that is told again because its response was lost',
      (run) =>
        run.statuses.set('m1', [{ status: 'pending' }, { status: 'delivered' }, { status: 'delivered' }]),
    ],
    [
      'a 200 whose frame was lost with the connection of a Mac before another device took over',
      (run) => {
        run.hearNothing();
        run.binding.droppedAt = 55;
        run.bind({ ...later, askedAt: 140, boundAt: 145 });
      },
    ],
    [
      'a 200 whose frame was lost with the connection of a Mac and the node that remembered it',
      (run) => {
        run.hearNothing();
        run.binding.droppedAt = 55;
        run.binding.nodeKilledAt = 300;
        run.bind({ ...run.binding, askedAt: 340, boundAt: 345, droppedAt: Infinity });
      },
    ],
    [
      'a 200 whose frame was on a slow link when the node was killed',
      (run) => {
        run.hearNothing();
        run.binding.nodeKilledAt = 900;
      },
    ],
    [
      'a 200 whose frame was handed over to a node that was killed before the Mac had it',
      (run) => {
        run.hearNothing();
        run.binding.droppedAt = 55;
        run.bind({ ...run.binding, askedAt: 140, boundAt: 145, droppedAt: 160, nodeKilledAt: 400 });
        run.bind({ ...run.binding, askedAt: 540, boundAt: 545, droppedAt: Infinity });
      },
    ],
    [
      'a 200 whose node was killed before any other node could be reached',
      (run) => {
        run.hearNothing();
        Object.assign(run.binding, { droppedAt: 55, nodeKilledAt: 12_000, aloneSince: 40 });
        run.bind({ ...later, device: 'mac-a', askedAt: 12_240, boundAt: 12_245 });
      },
    ],
    [
      'a 200 whose frame the agent could not save before the node was killed',
      (run) => run.forgetAtAgent({ nodeKilledAt: 900 }),
    ],
  ])('accepts %s', (_, plant) => {
    expect(violationsOf(plant)).toEqual({});
  });

  it('counts what was forgotten with a killed node apart from the violations', () => {
    const run = new Run();
    run.hearNothing();
    run.binding.nodeKilledAt = 70;
    run.forgetAtAgent({ nodeKilledAt: 70 });
    expect(judge(run.ledgers)).toMatchObject({ forgotten: 2, violations: FLAWLESS });
  });

  it('counts a send with unknown outcome, which the agent must not repeat, apart from the violations', () => {
    const run = new Run();
    run.agent = { ...run.agent, sentTexts: [] };
    const error = { code: 'INTERNAL_ERROR', type: 'error', message: 'outcome unknown: interrupted' };
    run.statuses.set('m2', [{ status: 'pending' }, { status: 'failed', error }]);
    expect(judge(run.ledgers)).toMatchObject({ unknownOutcomes: 1, violations: FLAWLESS });
  });

  it('counts it also when the CRM shows the error of an earlier, rejected request, but not when it shows no failure', () => {
    const run = new Run();
    run.agent = { ...run.agent, sentTexts: [], interrupted: new Set(['m2']) };
    run.statuses.set('m2', [{ status: 'failed' }]);
    expect(judge(run.ledgers)).toMatchObject({ unknownOutcomes: 1, violations: FLAWLESS });
    run.statuses.set('m2', [{ status: 'pending' }]);
    expect(judge(run.ledgers)).toMatchObject({ unknownOutcomes: 0, violations: { lost: 1, statuses: 1 } });
  });
});
