import type { MessageStatusFrame } from '@footbridge/protocol/frames';
import { asLocationId, newRequestId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { sleepWith } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import { collectGarbage } from '@footbridge/testkit/collect-garbage';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { CANCELLED, failed, succeeded } from '../../ports/crm/attempt.ts';
import type { Attempt, SendGuard } from '../../ports/crm/attempt.ts';
import type {
  LastStatus,
  MessageTrail,
  SentStatus,
  SentStatuses,
  StepName,
} from '../../ports/journal/journal.ts';
import type { Lease } from '../../ports/switchboard/switchboard.ts';
import { createStatusReports } from './report-statuses.ts';
import type { StatusReports, StatusReportsDeps } from './report-statuses.ts';
import type { ShownStatus, StatusCalls, StatusUpdate } from './status-calls.ts';
import type { OtherNodes } from './status-history.ts';

const LOCATION = asLocationId('loc1') as LocationId;
const lease = (epoch = 1, locationId = LOCATION): Lease => ({
  locationId,
  deviceId: 'device-1',
  sessionId: `session-${epoch}`,
  epoch,
});
/** Other nodes that know no message. */
const OTHER_NODES: OtherNodes = {
  settled: async () => 20_000,
  mayLackStatuses: () => false,
  statusElsewhere: async () => undefined,
  isUnderWayElsewhere: async () => false,
};
const OK = succeeded(undefined);
/** The app lacks the scope to read messages. */
const UNREADABLE = failed('refused', { retryable: false, status: 401 });
const READ_LAG_MS = 10_000;
const SETTLE_MS = 20_000;
const HTTP = failed('http', { status: 500, reason: 'oops' });
const TIMEOUT = failed('timeout', { inDoubt: true });

interface SetUp {
  clock: FakeClock;
  reports: StatusReports;
  logs: object[];
  steps: [string, StepName, unknown][];
  told: Map<string, SentStatuses>;
  /** What the journal has as the last status of every message. */
  last: { value: LastStatus | undefined };
  currentEpoch: { value: number };
  counted: string[];
}

function setUp(
  put: StatusCalls['put'],
  more: Partial<Pick<StatusReportsDeps, 'oauthReady' | 'otherNodes' | 'clock' | 'past'>> = {},
  read: StatusCalls['read'] = async () => UNREADABLE,
): SetUp {
  const clock = new FakeClock();
  const logs: object[] = [];
  const steps: SetUp['steps'] = [];
  const counted: string[] = [];
  const told = new Map<string, SentStatuses>();
  const last: SetUp['last'] = { value: undefined };
  const currentEpoch = { value: 1 };
  const log = (fields: object, message: string) => logs.push({ ...fields, message });
  const reports = createStatusReports({
    oauthReady: true,
    calls: { put, read },
    readLagMs: READ_LAG_MS,
    settleMs: SETTLE_MS,
    journal: {
      open() {},
      step: (id, step, recorded) => void steps.push([id, step, recorded?.detail?.['status']]),
    },
    past: {
      sentStatuses: async (requestId) => told.get(requestId),
      lastStatus: async () => last.value,
      requestsOf: async () => [],
    },
    isCurrent: ({ epoch }) => epoch === currentEpoch.value,
    clock,
    log: { debug: log, info: log, warn: log, error: log },
    failpoint: undefined,
    otherNodes: undefined,
    count: (status, result) => counted.push(`${status} ${result}`),
    ...more,
  });
  return { clock, reports, logs, steps, told, last, currentEpoch, counted };
}

/** Status calls whose responses the test controls. */
function heldCalls() {
  const sent: { update: StatusUpdate; answer: (result: Attempt<undefined>) => void }[] = [];
  return {
    sent,
    put: async (update: StatusUpdate, guard: SendGuard) => {
      if (!(await guard.fence?.())) return CANCELLED;
      return new Promise<Attempt<undefined>>((answer) => sent.push({ update, answer }));
    },
    statuses: () => sent.map(({ update }) => update.status),
  };
}

/** Status calls that all succeed. */
function openCalls() {
  const updates: StatusUpdate[] = [];
  return { updates, put: async (update: StatusUpdate) => (updates.push(update), OK) };
}

const frame = (
  requestId: string,
  status: 'delivered' | 'failed' = 'delivered',
  messageId: string | null = 'm1',
): MessageStatusFrame => ({
  type: 'message_status',
  seq: 1,
  requestId,
  messageId,
  status,
  ...(status === 'failed' && { error: { code: 'TIMEOUT', message: 'The Mac waited too long.' } }),
});
const publish = (reports: StatusReports, requestId: string, messageId: string | null = 'm1', by = lease()) =>
  reports.published({ requestId, locationId: by.locationId, messageId, lease: by });
const tick = () => new Promise((resolve) => setImmediate(resolve));

describe('the CRM receives', () => {
  it('A2 pending at once, and then A3 the report of the Mac verbatim', async () => {
    const { put, updates } = openCalls();
    const { reports, counted } = setUp(put);
    const [good, bad] = [newRequestId(), newRequestId()];
    publish(reports, good);
    publish(reports, bad, 'm2');
    expect(await reports.reported(lease(), frame(good))).toEqual({ outcome: 'delivered' });
    expect(await reports.reported(lease(), frame(bad, 'failed'))).toEqual({ outcome: 'delivered' });
    expect(updates.map(({ messageId, status, error }) => [messageId, status, error])).toEqual([
      ['m1', 'pending', undefined],
      ['m2', 'pending', undefined],
      ['m1', 'delivered', undefined],
      ['m2', 'failed', { code: 'TIMEOUT', message: 'The Mac waited too long.' }],
    ]);
    expect(counted).toEqual(['pending ok', 'pending ok', 'delivered ok', 'failed ok']);
  });

  it('A4 the terminal status after a pending that is in flight', async () => {
    const { put, sent, statuses } = heldCalls();
    const { reports } = setUp(put);
    const id = newRequestId();
    publish(reports, id);
    const ack = reports.reported(lease(), frame(id));
    await tick();
    expect(statuses()).toEqual(['pending']);
    sent[0]?.answer(OK);
    await tick();
    expect(statuses()).toEqual(['pending', 'delivered']);
    sent[1]?.answer(OK);
    expect(await ack).toEqual({ outcome: 'delivered' });
  });

  it('A4 the terminal status at once when pending waits for its next attempt', async () => {
    const { put, sent, statuses } = heldCalls();
    const { reports, clock, counted } = setUp(put);
    const id = newRequestId();
    publish(reports, id);
    await tick();
    sent[0]?.answer(HTTP);
    await tick();
    void reports.reported(lease(), frame(id));
    await tick();
    expect(statuses()).toEqual(['pending', 'delivered']);
    sent[1]?.answer(OK);
    await clock.advance(60_000);
    expect(statuses()).toEqual(['pending', 'delivered']);
    expect(counted).toEqual(['pending unwanted', 'delivered ok']);
  });

  it('A4 pending five times at most, a terminal status as often as it takes', async () => {
    const statuses: string[] = [];
    const { reports, clock, counted } = setUp(async ({ status }, guard) => {
      if (!(await guard.fence?.())) return CANCELLED;
      statuses.push(status);
      return status === 'delivered' && statuses.length > 30 ? OK : HTTP;
    });
    const id = newRequestId();
    publish(reports, id);
    await clock.advance(600_000);
    expect(statuses).toEqual(Array.from({ length: 5 }, () => 'pending'));
    const ack = reports.reported(lease(), frame(id));
    await clock.advance(3_600_000);
    expect(await ack).toEqual({ outcome: 'delivered' });
    expect(counted).toEqual(['pending given_up', 'delivered ok']);
  });

  it('A5 nothing after a terminal status: later frames are acknowledged and dropped', async () => {
    const { put, updates } = openCalls();
    const { reports } = setUp(put);
    const id = newRequestId();
    publish(reports, id);
    await reports.reported(lease(), frame(id));
    expect(await reports.reported(lease(), frame(id, 'failed'))).toEqual({ outcome: 'delivered' });
    expect(await reports.reported(lease(), frame(id))).toEqual({ outcome: 'delivered' });
    expect(updates.map(({ status }) => status)).toEqual(['pending', 'delivered']);
  });

  it('A6 nothing without OAuth, which is logged once per request', async () => {
    const { reports, logs } = setUp(() => expect.unreachable(), { oauthReady: false });
    const ids = [newRequestId(), newRequestId()];
    for (const id of ids) {
      publish(reports, id);
      expect(await reports.reported(lease(), frame(id))).toEqual({ outcome: 'skipped' });
    }
    expect(logs).toEqual(
      ids.map((requestId) => expect.objectContaining({ requestId, reason: 'oauth_not_configured' })),
    );
  });

  it('A6 nothing without a message id or a token, which is not logged', async () => {
    const { reports, logs, steps } = setUp(async () => failed('none', { unsent: true }));
    const [anonymous, unauthorised] = [newRequestId(), newRequestId()];
    publish(reports, anonymous, null);
    publish(reports, unauthorised);
    expect(await reports.reported(lease(), frame(anonymous, 'delivered', null))).toEqual({
      outcome: 'skipped',
    });
    expect(await reports.reported(lease(), frame(unauthorised))).toEqual({ outcome: 'skipped' });
    expect(logs).toEqual([]);
    expect(steps.map(([, step]) => step)).toEqual(['mac_says', 'mac_says']);
  });

  it('A7 failed for a rejected request, and no caller waits for it', async () => {
    const { put, updates } = openCalls();
    const { reports } = setUp(put);
    const rejected = {
      requestId: newRequestId(),
      locationId: LOCATION,
      code: 'CLIENT_NOT_CONNECTED',
      message: 'No Mac',
    };
    reports.rejected({ ...rejected, messageId: 'm1' });
    for (const messageId of [null, '..', '']) reports.rejected({ ...rejected, messageId });
    await tick();
    expect(updates).toEqual([
      {
        locationId: LOCATION,
        messageId: 'm1',
        status: 'failed',
        error: { code: 'CLIENT_NOT_CONNECTED', message: 'No Mac' },
      },
    ]);
  });

  it('A4 the rejection of a first request before the pending of its repetition, and not again after it', async () => {
    const { put, sent, statuses } = heldCalls();
    const { reports, clock } = setUp(put);
    reports.rejected({
      requestId: newRequestId(),
      locationId: LOCATION,
      messageId: 'm1',
      code: 'CLIENT_NOT_CONNECTED',
      message: 'No Mac',
    });
    await tick();
    publish(reports, newRequestId());
    await tick();
    expect(statuses()).toEqual(['failed']);
    sent[0]?.answer(HTTP);
    await clock.advance(60_000);
    expect(statuses()).toEqual(['failed', 'pending']);
  });

  it('A4 one rejection of requests that come at once, and another for a repeat after it', async () => {
    const { put, sent, statuses } = heldCalls();
    const { reports } = setUp(put);
    const reject = () =>
      reports.rejected({
        requestId: newRequestId(),
        locationId: LOCATION,
        messageId: 'm1',
        code: 'CLIENT_NOT_CONNECTED',
        message: 'No Mac is connected for this location.',
      });
    for (let count = 0; count < 3; count++) reject();
    await tick();
    sent[0]?.answer(OK);
    await tick();
    expect(statuses()).toEqual(['failed']);
    reject();
    await tick();
    expect(statuses()).toEqual(['failed', 'failed']);
  });

  it.each([
    ['delivered', []],
    ['pending', ['delivered']],
    ['absent', ['pending', 'delivered']],
  ] as const)(
    'A5 only statuses that it does not show yet (%s: %j) when a lost node may have sent more than the journal has',
    async (shown, expected) => {
      const { put, updates } = openCalls();
      const otherNodes = { ...OTHER_NODES, mayLackStatuses: () => true };
      const { reports, clock } = setUp(put, { otherNodes }, async () => succeeded(shown));
      const requestId = newRequestId();
      reports.published({ requestId, locationId: LOCATION, messageId: 'm1', lease: lease() });
      await clock.advance(0);
      await reports.reported(lease(), frame(requestId));
      expect(updates.map(({ status }) => status)).toEqual(expected);
    },
  );

  it('A5 no rejection that could not be sent in 1.5 s when there are other nodes', async () => {
    const put = async () => failed('crowded', { unsent: true, retryAfterMs: 1000 });
    const guards: SendGuard[] = [];
    const { reports, clock } = setUp(async (_update, guard) => (guards.push(guard), put()), {
      otherNodes: OTHER_NODES,
    });
    reports.rejected({
      requestId: newRequestId(),
      locationId: LOCATION,
      messageId: 'm1',
      code: 'CLIENT_NOT_CONNECTED',
      message: 'No Mac',
    });
    await clock.advance(0);
    expect(guards).toHaveLength(1);
    await clock.advance(60_000);
    expect(guards).toHaveLength(1);
  });

  describe('when a rejection was lost and there are other nodes', () => {
    const rejection = {
      locationId: LOCATION,
      messageId: 'm1',
      code: 'CLIENT_NOT_CONNECTED',
      message: 'No Mac',
    };

    async function lose(more: Partial<Pick<StatusReportsDeps, 'past' | 'otherNodes'>> = {}) {
      const calls = heldCalls();
      const set = setUp(calls.put, { otherNodes: OTHER_NODES, ...more });
      set.reports.rejected({ ...rejection, requestId: newRequestId() });
      await set.clock.advance(0);
      calls.sent[0]?.answer(failed('network', { reason: 'the response was lost' }));
      return { ...set, ...calls };
    }

    it('A7 failed again while no other node has told it anything', async () => {
      const { clock, statuses } = await lose();
      await clock.advance(60_000);
      expect(statuses()).toEqual(['failed', 'failed']);
    });

    it('A5 nothing more once another node has told it about a repeat', async () => {
      const { clock, statuses, last } = await lose();
      last.value = 'delivered';
      await clock.advance(60_000);
      expect(statuses()).toEqual(['failed']);
    });

    it('A5 nothing more while the reports of other nodes cannot be read', async () => {
      const past = {
        sentStatuses: async () => undefined,
        lastStatus: async () => Promise.reject(new Error('down')),
        requestsOf: async () => Promise.reject(new Error('down')),
      };
      const { clock, statuses } = await lose({ past });
      await clock.advance(60_000);
      expect(statuses()).toEqual(['failed']);
    });

    it.each([true, 'unknown'] as const)(
      'A5 nothing more when a repeat may be under way at another node before that is in the journal: %s',
      async (later) => {
        let isFirst = true;
        const isUnderWayElsewhere = async () => (isFirst ? (isFirst = false) : later);
        const { clock, statuses } = await lose({ otherNodes: { ...OTHER_NODES, isUnderWayElsewhere } });
        await clock.advance(60_000);
        expect(statuses()).toEqual(['failed']);
      },
    );

    it('A5 nothing more once another node has accepted a repeat, which waits for the request in flight', async () => {
      const { put, sent, statuses } = heldCalls();
      const { reports, clock } = setUp(put, { otherNodes: OTHER_NODES });
      reports.rejected({ ...rejection, requestId: newRequestId() });
      await clock.advance(0);
      let isSettled = false;
      const settling = reports.settleRejections(LOCATION, 'm1').then(() => (isSettled = true));
      await reports.settleRejections(LOCATION, 'another message');
      expect(isSettled).toBe(false);
      sent[0]?.answer(HTTP);
      await settling;
      await clock.advance(60_000);
      expect(statuses()).toEqual(['failed']);
    });
  });

  describe('when not all other nodes can be asked about a rejected request', () => {
    const isUnderWayElsewhere = async () => 'unknown' as const;

    it.each([
      ['failed for the first request of a message', [], ['failed']],
      ['nothing for a repeat: the first one may be under way', ['first'], []],
    ])('A7 %s', async (_what, before, told) => {
      const { put, statuses } = heldCalls();
      const requestId = newRequestId();
      const requests = [...before, requestId].map((id) => ({ id }) as MessageTrail);
      const past = {
        sentStatuses: async () => undefined,
        lastStatus: async () => undefined,
        requestsOf: async () => requests,
      };
      const { reports, clock } = setUp(put, {
        otherNodes: { ...OTHER_NODES, isUnderWayElsewhere },
        past,
      });
      reports.rejected({ requestId, locationId: LOCATION, messageId: 'm1', code: 'X', message: 'x' });
      await clock.advance(0);
      expect(statuses()).toEqual(told);
    });
  });

  it('A4 no pending of a repeated request while the outcome of the first is being delivered', async () => {
    const { put, sent, statuses } = heldCalls();
    const { reports } = setUp(put);
    const [first, second] = [newRequestId(), newRequestId()];
    publish(reports, first);
    await tick();
    sent[0]?.answer(OK);
    await tick();
    const ack = reports.reported(lease(), frame(first));
    await tick();
    publish(reports, second);
    await tick();
    expect(statuses()).toEqual(['pending', 'delivered']);
    sent[1]?.answer(OK);
    expect(await ack).toEqual({ outcome: 'delivered' });
    await tick();
    expect(statuses()).toEqual(['pending', 'delivered']);
  });
});

describe('a repeated request', () => {
  const said = (updates: readonly StatusUpdate[]) => updates.map(({ status }) => status);

  it('A5 shares the statuses of the first one while that is under way, and both reports are acknowledged', async () => {
    const { put, updates } = openCalls();
    const { reports, steps } = setUp(put);
    const ids = [newRequestId(), newRequestId()];
    for (const id of ids) publish(reports, id);
    await tick();
    for (const id of ids)
      expect(await reports.reported(lease(), frame(id))).toEqual({ outcome: 'delivered' });
    expect(said(updates)).toEqual(['pending', 'delivered']);
    expect(steps.filter(([, step]) => step === 'mac_says').map(([id]) => id)).toEqual(ids);
  });

  it('A5 is a new attempt while the failure of the first one is still being delivered', async () => {
    const { put, sent, statuses } = heldCalls();
    const { reports } = setUp(put);
    const [first, second] = [newRequestId(), newRequestId()];
    publish(reports, first);
    await tick();
    sent[0]?.answer(OK);
    await tick();
    const firstAck = reports.reported(lease(), frame(first, 'failed'));
    await tick();
    publish(reports, second);
    await tick();
    expect(statuses()).toEqual(['pending', 'failed']);
    sent[1]?.answer(OK);
    expect(await firstAck).toEqual({ outcome: 'delivered' });
    await tick();
    expect(statuses()).toEqual(['pending', 'failed', 'pending']);
    sent[2]?.answer(OK);
    const delivered = reports.reported(lease(), frame(second));
    await tick();
    sent[3]?.answer(OK);
    expect(await delivered).toEqual({ outcome: 'delivered' });
    expect(statuses()).toEqual(['pending', 'failed', 'pending', 'delivered']);
  });

  it('A5 that shared a failed attempt and succeeded is reported as delivered', async () => {
    const { put, updates } = openCalls();
    const { reports } = setUp(put);
    const [first, second] = [newRequestId(), newRequestId()];
    publish(reports, first);
    publish(reports, second);
    await reports.reported(lease(), frame(first, 'failed'));
    await reports.reported(lease(), frame(second));
    await reports.reported(lease(), frame(first));
    expect(said(updates)).toEqual(['pending', 'failed', 'delivered']);
  });

  it('A5 with another text, which the Mac rejects, does not end the message that is under way', async () => {
    const { put, updates } = openCalls();
    const { reports } = setUp(put);
    const [first, second] = [newRequestId(), newRequestId()];
    publish(reports, first);
    publish(reports, second);
    const error = { code: 'INVALID_FRAME', message: 'This messageId was used for another message.' };
    const rejected = { ...frame(second, 'failed'), error };
    expect(await reports.reported(lease(), rejected)).toEqual({ outcome: 'skipped' });
    expect(await reports.reported(lease(), frame(first))).toEqual({ outcome: 'delivered' });
    expect(await reports.reported(lease(), rejected)).toEqual({ outcome: 'delivered' });
    expect(said(updates)).toEqual(['pending', 'delivered']);
  });

  it.each([
    ['delivered', []],
    ['pending', ['delivered']],
    ['failed', ['pending', 'delivered']],
    [undefined, ['pending', 'delivered']],
  ] as const)(
    'A5 of a message whose last status was %s in an earlier run gets %j',
    async (before, expected) => {
      const { put, updates } = openCalls();
      const { reports, last } = setUp(put);
      last.value = before;
      const id = newRequestId();
      publish(reports, id);
      expect(await reports.reported(lease(), frame(id))).toEqual({ outcome: 'delivered' });
      expect(said(updates)).toEqual(expected);
    },
  );

  it('A5 is checked against the reports of other nodes when the Mac has been elsewhere', async () => {
    const { put, updates } = openCalls();
    const { reports, last, currentEpoch } = setUp(put, { otherNodes: OTHER_NODES });
    const [first, second, third] = [newRequestId(), newRequestId(), newRequestId()];
    publish(reports, first);
    await tick();
    last.value = 'delivered';
    currentEpoch.value = 3;
    publish(reports, second, 'm1', lease(3));
    for (const id of [second, first])
      expect(await reports.reported(lease(3), frame(id))).toEqual({ outcome: 'delivered' });
    reports.rejected({ requestId: third, locationId: LOCATION, messageId: 'm1', code: 'X', message: 'x' });
    await tick();
    expect(said(updates)).toEqual(['pending']);
  });

  it.each(['pending', 'delivered'] as const)(
    'A5 waits until the former owner has recorded that the CRM was told %s',
    async (told) => {
      const { put, updates } = openCalls();
      const { promise, resolve } = Promise.withResolvers<number>();
      const settled = () => promise;
      const { reports, last } = setUp(put, { otherNodes: { ...OTHER_NODES, settled } });
      publish(reports, newRequestId());
      await tick();
      expect(updates).toEqual([]);
      last.value = told;
      resolve(0);
      await tick();
      expect(updates).toEqual([]);
      publish(reports, newRequestId(), 'm2');
      await tick();
      expect(updates).toEqual([]);
      last.value = undefined;
      publish(reports, newRequestId(), 'm3');
      await tick();
      expect(said(updates)).toEqual(['pending']);
    },
  );

  it.each([
    ['here', 'pending', undefined],
    ['elsewhere', 'pending', 'pending'],
    ['elsewhere', 'delivered', 'delivered'],
  ] as const)(
    'A5 is not told again what is known %s before it is in the journal: %s',
    async (where, _told, elsewhere) => {
      const { put, updates } = openCalls();
      const statusElsewhere = async () =>
        elsewhere && ({ status: elsewhere, isUnderWay: true, epoch: 2 } as const);
      const { reports, currentEpoch } = setUp(put, { otherNodes: { ...OTHER_NODES, statusElsewhere } });
      if (where === 'here') publish(reports, newRequestId());
      await tick();
      currentEpoch.value = 3;
      publish(reports, newRequestId(), 'm1', lease(3));
      await tick();
      expect(said(updates)).toEqual(where === 'here' ? ['pending'] : []);
    },
  );

  it('A5 that is rejected says nothing about a message that another node is sending', async () => {
    const { put, updates } = openCalls();
    const asked: string[] = [];
    const isUnderWayElsewhere = async (...message: unknown[]) => asked.push(message.join(' ')) === 1;
    const fenced: StatusCalls['put'] = async (update, guard) =>
      (await guard.fence?.()) === true ? put(update) : CANCELLED;
    const { reports, clock } = setUp(fenced, { otherNodes: { ...OTHER_NODES, isUnderWayElsewhere } });
    const rejected = { locationId: LOCATION, messageId: 'm1', code: 'X', message: 'x' };
    reports.rejected({ ...rejected, requestId: newRequestId() });
    await clock.advance(0);
    expect([asked, updates]).toEqual([[`${LOCATION} m1`], []]);
    reports.rejected({ ...rejected, messageId: 'm2', requestId: newRequestId() });
    await clock.advance(0);
    expect(said(updates)).toEqual(['failed']);
  });

  it.each(['pending', 'written', 'uncertain'] as const)(
    'A5 that is rejected says nothing about a message that an earlier run is or may be sending: %s',
    async (before) => {
      const { put, updates } = openCalls();
      const { reports, last } = setUp(put);
      last.value = before;
      const rejected = { locationId: LOCATION, messageId: 'm1', code: 'X', message: 'x' };
      for (const requestId of [newRequestId(), newRequestId()]) reports.rejected({ ...rejected, requestId });
      await tick();
      const id = newRequestId();
      publish(reports, id);
      await reports.reported(lease(), frame(id));
      expect(said(updates)).toEqual(before === 'pending' ? ['delivered'] : ['pending', 'delivered']);
    },
  );

  it('A4 is settled for the next owner once its call is answered, and is not retried', async () => {
    const { put, sent, statuses } = heldCalls();
    const { reports, clock } = setUp(put, { otherNodes: OTHER_NODES });
    publish(reports, newRequestId());
    publish(reports, newRequestId(), 'm2');
    publish(reports, newRequestId(), 'm3', lease(1, asLocationId('loc2')));
    await tick();
    let isSettled = false;
    const settling = reports.settle(LOCATION).then(() => (isSettled = true));
    sent[0]?.answer(OK);
    await tick();
    expect(isSettled).toBe(false);
    sent[1]?.answer(HTTP);
    await settling;
    await clock.advance(60_000);
    expect(statuses()).toEqual(['pending', 'pending', 'pending']);
    expect(await Promise.all(['m1', 'm2', 'm4'].map((id) => reports.statusOf(LOCATION, id)))).toEqual([
      { status: 'pending', isUnderWay: true, epoch: 1 },
      { status: 'none', isUnderWay: true, epoch: 1 },
      undefined,
    ]);
  });

  /** The Mac reports the outcome while the CRM has not responded to `pending`. */
  async function reportedDuringPending() {
    const { put, sent, statuses } = heldCalls();
    const { reports, clock } = setUp(put);
    const id = newRequestId();
    publish(reports, id);
    await tick();
    return { sent, statuses, reports, clock, ack: reports.reported(lease(), frame(id)) };
  }

  it('A4 holds the terminal status until a pending that timed out can no longer arrive', async () => {
    const { sent, statuses, clock, ack } = await reportedDuringPending();
    sent[0]?.answer(TIMEOUT);
    await clock.advance(SETTLE_MS - 1);
    expect(statuses()).toEqual(['pending']);
    await clock.advance(1);
    expect(statuses()).toEqual(['pending', 'delivered']);
    sent[1]?.answer(OK);
    expect(await ack).toEqual({ outcome: 'delivered' });
  });

  it('A4 sends the terminal status at once when the CRM responded to every pending', async () => {
    const { sent, statuses, clock, ack } = await reportedDuringPending();
    sent[0]?.answer(HTTP);
    await clock.advance(0);
    expect(statuses()).toEqual(['pending', 'delivered']);
    sent[1]?.answer(OK);
    await ack;
  });

  it('A4 sends no terminal status if the node stops while a pending that timed out may arrive', async () => {
    const { sent, statuses, reports, ack } = await reportedDuringPending();
    sent[0]?.answer(TIMEOUT);
    await tick();
    await reports.close();
    expect(await ack).toBe('retry');
    expect(statuses()).toEqual(['pending']);
  });

  it('A4 reports to the next owner how long a pending that timed out may still arrive', async () => {
    const { put, sent } = heldCalls();
    const { reports, clock } = setUp(put, { otherNodes: OTHER_NODES });
    publish(reports, newRequestId());
    await tick();
    const settling = reports.settle(LOCATION);
    sent[0]?.answer(TIMEOUT);
    expect(await settling).toBe(SETTLE_MS);
    await clock.advance(5000);
    expect(await reports.settle(LOCATION)).toBe(SETTLE_MS - 5000);
    expect(await reports.settle(asLocationId('loc2') ?? '')).toBe(0);
    await clock.advance(SETTLE_MS);
    expect(await reports.settle(LOCATION)).toBe(0);
  });

  it.each([
    ['comes back to this node', 3],
    ['comes back before that', 2],
  ])(
    'A4 whose pending was not sent for lack of the location is pending first when the Mac %s',
    async (_when, epoch) => {
      const { put, updates } = openCalls();
      const { promise, resolve } = Promise.withResolvers<number>();
      let isFirst = true;
      const settled = () => (isFirst ? promise : Promise.resolve(0));
      const fenced: StatusCalls['put'] = async (update, guard) =>
        (await guard.fence?.()) === true ? put(update) : CANCELLED;
      const { reports, currentEpoch } = setUp(fenced, { otherNodes: { ...OTHER_NODES, settled } });
      const id = newRequestId();
      publish(reports, id);
      isFirst = false;
      currentEpoch.value = epoch;
      if (epoch === 3) resolve(0);
      await tick();
      const reporting = reports.reported(lease(epoch), frame(id));
      resolve(0);
      expect(await reporting).toEqual({ outcome: 'delivered' });
      expect(said(updates)).toEqual(['pending', 'delivered']);
    },
  );

  it('A4 that the former owner could not report is pending first, without a delay', async () => {
    const { put, updates } = openCalls();
    const otherNodes = { ...OTHER_NODES, settled: async () => 0 };
    const { reports, told } = setUp(put, { otherNodes });
    const [unreported, reported] = [newRequestId(), newRequestId()];
    told.set(unreported, { locationId: LOCATION, messageId: 'm1', statuses: [] });
    told.set(reported, { locationId: LOCATION, messageId: 'm2', statuses: ['pending'] });
    for (const id of [unreported, reported])
      expect(await reports.reported(lease(), frame(id))).toEqual({ outcome: 'delivered' });
    expect(said(updates)).toEqual(['pending', 'delivered', 'delivered']);
  });

  it.each([
    ['the journal cannot be read', undefined],
    ['a node that did not respond may have written it before', 'uncertain'],
    ['the journal has only that it was written before', 'written'],
    ['the journal has only a rejected request of it', 'repeated'],
  ] as const)('A5 adds no status that the CRM has already when %s', async (_why, value) => {
    const { put, updates } = openCalls();
    const lastStatus = async () => value ?? Promise.reject(new Error('no database'));
    const past = { sentStatuses: async () => undefined, lastStatus, requestsOf: async () => [] };
    const shown = new Map<string, ShownStatus>([
      ['m1', 'delivered'],
      ['m2', 'pending'],
      ['m3', 'none'],
    ]);
    const read: StatusCalls['read'] = async (_location, messageId) =>
      succeeded(shown.get(messageId) ?? 'absent');
    const { reports } = setUp(put, { past }, read);
    for (const messageId of shown.keys()) {
      const id = newRequestId();
      publish(reports, id, messageId);
      await reports.reported(lease(), frame(id, 'delivered', messageId));
    }
    expect(updates.map(({ messageId, status }) => `${messageId} ${status}`)).toEqual([
      'm2 delivered',
      'm3 pending',
      'm3 delivered',
    ]);
  });

  it.each<[ShownStatus, string[]]>([
    ['delivered', []],
    ['failed', ['pending', 'delivered']],
    ['pending', ['pending', 'delivered']],
  ])('A5 after failed is reported as a new attempt unless the CRM shows %s: %j', async (shown, statuses) => {
    const { put, updates } = openCalls();
    const { reports, last } = setUp(put, {}, async () => succeeded(shown));
    last.value = 'failed';
    const id = newRequestId();
    publish(reports, id);
    await reports.reported(lease(), frame(id));
    expect(said(updates)).toEqual(statuses);
  });

  it('A5 that is rejected is not reported when the CRM shows delivered', async () => {
    const { put, updates } = openCalls();
    const { reports, last } = setUp(put, {}, async () => succeeded('delivered'));
    last.value = 'repeated';
    reports.rejected({
      requestId: newRequestId(),
      locationId: LOCATION,
      messageId: 'm1',
      code: 'X',
      message: 'x',
    });
    await tick();
    expect(updates).toEqual([]);
  });

  it('A8 is reported even when the journal cannot be read', async () => {
    const { put, updates } = openCalls();
    const { reports, logs } = setUp(put, {
      past: {
        sentStatuses: async () => undefined,
        lastStatus: async () => Promise.reject(new Error('no database')),
        requestsOf: async () => Promise.reject(new Error('no database')),
      },
    });
    const id = newRequestId();
    publish(reports, id);
    await reports.reported(lease(), frame(id));
    expect(said(updates)).toEqual(['pending', 'delivered']);
    expect(logs).toEqual([expect.objectContaining({ event: 'status.journal_unavailable' })]);
  });
});

describe('a report of the Mac', () => {
  it('A11 is acknowledged as rejected with the reason when the CRM rejected it permanently', async () => {
    const refused = failed('refused', { retryable: false, status: 422, reason: 'No such message' });
    const { reports, logs } = setUp(async ({ status }) => (status === 'pending' ? OK : refused));
    const id = newRequestId();
    publish(reports, id);
    expect(await reports.reported(lease(), frame(id))).toEqual({
      outcome: 'rejected',
      reason: 'the CRM refused: 422 No such message',
    });
    expect(logs).toEqual([
      expect.objectContaining({ event: 'status.not_accepted', requestId: id, http: 422 }),
    ]);
  });

  it('A11 is acknowledged only after the CRM accepted it, also when the Mac has reconnected', async () => {
    const { put, sent } = heldCalls();
    const { reports, currentEpoch, clock } = setUp(put);
    const id = newRequestId();
    publish(reports, id);
    await tick();
    sent[0]?.answer(OK);
    await tick();
    const first = reports.reported(lease(1), frame(id));
    await tick();
    currentEpoch.value = 2;
    const second = reports.reported(lease(2), frame(id));
    await tick();
    sent[1]?.answer(HTTP);
    await clock.advance(1000);
    sent[2]?.answer(OK);
    expect(await Promise.all([first, second])).toEqual([{ outcome: 'delivered' }, { outcome: 'delivered' }]);
    expect(sent).toHaveLength(3);
  });

  it('A11 is not acknowledged when its lease was lost, and the repeated report is delivered', async () => {
    const { put, sent } = heldCalls();
    const { reports, currentEpoch } = setUp(put);
    const id = newRequestId();
    publish(reports, id);
    await tick();
    sent[0]?.answer(OK);
    const first = reports.reported(lease(1), frame(id));
    await tick();
    currentEpoch.value = 2;
    sent[1]?.answer(HTTP);
    expect(await first).toBe('retry');
    const second = reports.reported(lease(2), frame(id));
    await tick();
    sent[2]?.answer(OK);
    expect(await second).toEqual({ outcome: 'delivered' });
  });

  it('is rejected for a request of another location, and nothing is sent', async () => {
    const { put, updates } = openCalls();
    const { reports, told } = setUp(put);
    const [mine, past] = [newRequestId(), newRequestId()];
    publish(reports, mine);
    told.set(past, { locationId: 'loc1', messageId: 'm1', statuses: [] });
    const other = lease(1, asLocationId('loc2'));
    for (const id of [mine, past])
      expect(await reports.reported(other, frame(id))).toMatchObject({ outcome: 'rejected' });
    expect(updates.map(({ status }) => status)).toEqual(['pending']);
  });
});

describe('after a restart', () => {
  const known = (statuses: SentStatus[]): SentStatuses => ({
    locationId: LOCATION,
    messageId: 'm1',
    statuses,
  });

  it('A5 no status is sent again', async () => {
    const { reports, told } = setUp(() => expect.unreachable());
    const id = newRequestId();
    told.set(id, known(['pending', 'delivered']));
    expect(await reports.reported(lease(), frame(id))).toEqual({ outcome: 'delivered' });
  });

  it('A4 a terminal status waits as long as a pending of the earlier run may be in flight', async () => {
    const { put, updates } = openCalls();
    const { reports, clock } = setUp(put);
    const id = newRequestId(clock.now() - 3000);
    const ack = reports.reported(lease(), frame(id));
    await clock.advance(10_900);
    expect(updates).toEqual([]);
    await clock.advance(200);
    expect(await ack).toEqual({ outcome: 'delivered' });
    expect(updates.map(({ status }) => status)).toEqual(['delivered']);
  });

  it('A4 a terminal status does not wait when pending was accepted or was sent long ago', async () => {
    const { reports, clock, told } = setUp(openCalls().put);
    const answered = newRequestId(clock.now() - 3000);
    told.set(answered, known(['pending']));
    expect(await reports.reported(lease(), frame(answered))).toEqual({ outcome: 'delivered' });
    const old = newRequestId(clock.now() - 3_600_000);
    expect(await reports.reported(lease(), frame(old))).toEqual({ outcome: 'delivered' });
  });

  it('a repeated report is delivered once', async () => {
    const { put, updates } = openCalls();
    const { reports, clock } = setUp(put);
    const id = newRequestId(clock.now());
    const acks = [1, 2, 3].map(() => reports.reported(lease(), frame(id)));
    await clock.advance(12_000);
    expect(await Promise.all(acks)).toEqual([1, 2, 3].map(() => ({ outcome: 'delivered' })));
    expect(updates.map(({ status }) => status)).toEqual(['delivered']);
  });

  it('the message id comes from the journal rather than the Mac, and an invalid request id is rejected', async () => {
    const { put, updates } = openCalls();
    const { reports, told } = setUp(put);
    const id = newRequestId();
    told.set(id, known(['pending']));
    await reports.reported(lease(), frame(id, 'delivered', 'another'));
    expect(updates.map(({ messageId }) => messageId)).toEqual(['m1']);
    expect(await reports.reported(lease(), frame('made up'))).toMatchObject({ outcome: 'rejected' });
  });
});

describe('a report about a message whose statuses are not in the journal', () => {
  const otherNodes = { ...OTHER_NODES, settled: async () => 0 };
  /** A node that took the location over, and a CRM that shows `shown` in turn, the last one for ever. */
  function takenOver(...shown: Attempt<ShownStatus>[]) {
    const { put, updates } = openCalls();
    const reads: string[] = [];
    const read: StatusCalls['read'] = async (locationId, messageId) => {
      reads.push(`${locationId} ${messageId}`);
      return shown[Math.min(reads.length, shown.length) - 1] ?? UNREADABLE;
    };
    return { ...setUp(put, { otherNodes }, read), updates, reads };
  }
  const old = (clock: FakeClock) => newRequestId(clock.now() - 120_000);
  const statusesOf = (updates: StatusUpdate[]) => updates.map(({ status }) => status);

  it.each<[ShownStatus, 'delivered' | 'failed', string[]]>([
    ['delivered', 'delivered', []],
    ['delivered', 'failed', []],
    ['failed', 'failed', []],
    ['pending', 'delivered', ['delivered']],
    ['none', 'delivered', ['pending', 'delivered']],
    ['failed', 'delivered', ['pending', 'delivered']],
  ])('A5 while the CRM shows %s, %s is reported as %j', async (shown, status, sent) => {
    const { reports, clock, updates, reads } = takenOver(succeeded(shown));
    expect(await reports.reported(lease(), frame(old(clock), status))).toEqual({ outcome: 'delivered' });
    expect(statusesOf(updates)).toEqual(sent);
    expect(reads).toEqual(['loc1 m1']);
  });

  it('A4 is delivered with pending first when the CRM cannot be read', async () => {
    const { reports, clock, updates } = takenOver(UNREADABLE);
    expect(await reports.reported(lease(), frame(old(clock)))).toEqual({ outcome: 'delivered' });
    expect(statusesOf(updates)).toEqual(['pending', 'delivered']);
  });

  it('A5 is read again when the CRM failed or the token was renewed', async () => {
    const expired = failed('token_expired', { status: 401 });
    const { reports, clock, updates, reads } = takenOver(HTTP, expired, succeeded('delivered'));
    const ack = reports.reported(lease(), frame(old(clock)));
    await clock.advance(60_000);
    expect(await ack).toEqual({ outcome: 'delivered' });
    expect([updates, reads.length]).toEqual([[], 3]);
  });

  it('A5 is read also when the journal has only the failure of an earlier request', async () => {
    const { reports, clock, updates, last, reads } = takenOver(succeeded('delivered'));
    last.value = 'failed';
    expect(await reports.reported(lease(), frame(old(clock)))).toEqual({ outcome: 'delivered' });
    expect([updates, reads.length]).toEqual([[], 1]);
  });

  it('A3 is skipped and counted when neither the journal nor the CRM knows the message', async () => {
    const { reports, clock, updates, counted } = takenOver(succeeded('absent'));
    const ack = reports.reported(lease(), frame(old(clock)));
    await clock.advance(READ_LAG_MS);
    expect(await ack).toEqual({ outcome: 'skipped' });
    expect(updates).toEqual([]);
    expect(counted).toEqual(['delivered unknown_message']);
  });

  it('A3 is skipped only after the read lag of the CRM, whatever the clock of the other node said', async () => {
    const { reports, clock, updates, reads } = takenOver(succeeded('absent'), succeeded('pending'));
    const ack = reports.reported(lease(), frame(old(clock)));
    await clock.advance(READ_LAG_MS - 1);
    expect([updates, reads.length]).toEqual([[], 1]);
    await clock.advance(1);
    expect(await ack).toEqual({ outcome: 'delivered' });
    expect([statusesOf(updates), reads.length]).toEqual([['delivered'], 2]);
  });

  it('A3 is delivered when the journal has the request, even if the CRM does not show the message', async () => {
    const { reports, clock, told, updates } = takenOver(succeeded('absent'));
    const id = old(clock);
    told.set(id, { locationId: LOCATION, messageId: 'm1', statuses: [] });
    expect(await reports.reported(lease(), frame(id))).toEqual({ outcome: 'delivered' });
    expect(statusesOf(updates)).toEqual(['pending', 'delivered']);
  });

  it('A11 is left to the Mac when the service stops during the read', async () => {
    const { reports, clock, updates } = takenOver(HTTP);
    const ack = reports.reported(lease(), frame(old(clock)));
    await clock.advance(100);
    await reports.close();
    expect(await ack).toBe('retry');
    expect(updates).toEqual([]);
  });

  it('A4 is not read when this process or the journal knows what the CRM was told', async () => {
    const { reports, clock, told, last, reads } = takenOver(succeeded('none'));
    const [here, journaled, repeated] = [newRequestId(), old(clock), old(clock)];
    publish(reports, here);
    await reports.reported(lease(), frame(here));
    told.set(journaled, { locationId: LOCATION, messageId: 'm2', statuses: ['pending', 'delivered'] });
    await reports.reported(lease(), frame(journaled, 'delivered', 'm2'));
    last.value = 'pending';
    await reports.reported(lease(), frame(repeated, 'delivered', 'm3'));
    expect(reads).toEqual([]);
  });
});

describe('closing', () => {
  it('completes requests in flight and leaves the others to the Mac', async () => {
    const { put, sent, statuses } = heldCalls();
    const { reports } = setUp(put);
    const id = newRequestId();
    publish(reports, id);
    await tick();
    sent[0]?.answer(OK);
    const ack = reports.reported(lease(), frame(id));
    await tick();
    let isClosed = false;
    const closing = reports.close().then(() => (isClosed = true));
    await tick();
    expect(isClosed).toBe(false);
    sent[1]?.answer(HTTP);
    expect(await ack).toBe('retry');
    await closing;
    expect(statuses()).toEqual(['pending', 'delivered']);
  });

  it('ends the wait for the next attempt', async () => {
    const { reports, clock } = setUp(async (_update, guard) => ((await guard.fence?.()) ? HTTP : CANCELLED));
    const id = newRequestId();
    publish(reports, id, null);
    const ack = reports.reported(lease(), frame(id, 'delivered', null));
    expect(await ack).toEqual({ outcome: 'skipped' });
    const other = newRequestId();
    publish(reports, other);
    const retried = reports.reported(lease(), frame(other));
    await clock.advance(100_000);
    await reports.close();
    expect(await retried).toBe('retry');
  });
});

describe('memory', () => {
  it('does not grow with the number of messages', async () => {
    const { reports, steps, counted } = setUp(async () => OK);
    const pass = async (count: number) => {
      for (let index = 0; index < count; index++) {
        const id = newRequestId();
        publish(reports, id, `m${index}`);
        await reports.reported(lease(), frame(id, 'delivered', `m${index}`));
      }
      steps.length = 0;
      counted.length = 0;
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const early = await pass(42_000);
    const late = await pass(20_000);
    expect(late - early).toBeLessThan(2_000_000);
  });
});

/**
 * The queue, the deliveries and the retry loop with a CRM whose requests arrive late, get lost, are rejected or get slow responses, in
 * every order the scheduler can find, while the Mac repeats its reports.
 */
describe('in any order of events', () => {
  it('A4 the CRM receives nothing, P, P·D, P·F, D or F for each request, in this order', async () => {
    const status = fc.constantFrom('delivered' as const, 'failed' as const);
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.record({ reports: fc.array(status, { maxLength: 3 }), faults: fc.array(fc.nat(3)) }), {
          minLength: 1,
          maxLength: 4,
        }),
        async (scheduler, messages) => {
          const arrivals = new Map<string, string[]>();
          const faults = new Map(messages.map((message, index) => [`m${index}`, [...message.faults]]));
          const put: StatusCalls['put'] = async (update, guard) => {
            await scheduler.schedule(Promise.resolve(), `${update.status} is queued`);
            if (guard.cancellation?.signal.aborted || !(await guard.fence?.())) return CANCELLED;
            await scheduler.schedule(Promise.resolve(), `${update.status} travels`);
            const seen = arrivals.get(update.messageId) ?? [];
            arrivals.set(update.messageId, seen);
            const fault = faults.get(update.messageId)?.shift() ?? 0;
            // 1 is lost on the way there, 2 on the way back, 3 is rejected temporarily.
            if (fault !== 1) seen.push(update.status);
            await scheduler.schedule(Promise.resolve(), `${update.status} is answered`);
            if (fault === 0) return OK;
            return failed(fault === 3 ? 'not_yet' : 'timeout', { inDoubt: fault !== 3 });
          };
          const after: Clock['after'] = (_ms, task) => {
            let isCancelled = false;
            void scheduler.schedule(Promise.resolve(), 'a wait ends').then(() => isCancelled || task());
            return () => (isCancelled = true);
          };
          const clock: Clock = {
            now: () => 0,
            monotonic: () => 0,
            after,
            sleep: (ms, signal) => sleepWith(after, ms, signal),
          };
          const { reports } = setUp(put, { clock });
          const acks = messages.flatMap(({ reports: said }, index) => {
            const id = newRequestId();
            publish(reports, id, `m${index}`);
            return said.map(async (reported) => {
              await scheduler.schedule(Promise.resolve(), `the Mac reports ${reported}`);
              return reports.reported(lease(), frame(id, reported, `m${index}`));
            });
          });
          await scheduler.waitIdle();
          await Promise.all(acks);
          for (const [messageId, seen] of arrivals) {
            // Retries of the same status are one status.
            const distinct = seen.filter((one, index) => one !== seen[index - 1]).join(' ');
            expect(
              ['', 'pending', 'pending delivered', 'pending failed', 'delivered', 'failed'],
              messageId,
            ).toContain(distinct);
          }
          for (const [index, { reports: said }] of messages.entries())
            if (said.length > 0) expect(arrivals.get(`m${index}`)?.at(-1)).toMatch(/delivered|failed/);
        },
      ),
      { numRuns: 150 },
    );
  });
});
