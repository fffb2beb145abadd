import { asLocationId, newRequestId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import type { SendFrame } from '@footbridge/protocol/frames';
import { until } from '@footbridge/testkit/until';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';

import type {
  BindOutcome,
  Contention,
  CutReason,
  Lease,
  Line,
  LineFrame,
  Switchboard,
} from './switchboard.ts';

export interface SwitchboardEngine {
  /** One or more nodes on one engine; everything must hold whichever of them is asked. */
  readonly nodes: readonly Switchboard[];
  passTime(ms: number): Promise<void>;
  close(): Promise<void>;
}

export type CreateSwitchboardEngine = (options: { contention: Contention }) => Promise<SwitchboardEngine>;

const PATIENT: Contention = { displacements: 1000, windowMs: 60_000 };
const DAMPED: Contention = { displacements: 3, windowMs: 60_000 };

/** The promises at the interface, for every engine. Notices between nodes may take a moment; answers may not. */
export function switchboardContract(name: string, createEngine: CreateSwitchboardEngine): void {
  describe(`switchboard: ${name}`, () => {
    const engines: SwitchboardEngine[] = [];
    afterEach(async () => {
      for (const engine of engines.splice(0)) await engine.close();
    });
    const start = async (contention = PATIENT) => {
      const engine = await createEngine({ contention });
      engines.push(engine);
      const first = engine.nodes.at(0);
      const last = engine.nodes.at(-1);
      if (first === undefined || last === undefined) throw new Error('an engine needs a node');
      return { engine, first, last };
    };

    it('M1 nobody is connected before somebody binds', async () => {
      const { first, last } = await start();
      expect(await first.send(freshLocation(), sendFrame())).toBe('not_connected');
      expect(await last.occupants()).toEqual([]);
      await first.ping();
    });

    it('M1 a frame reaches the line that holds the location, from any node, once', async () => {
      const { engine, last } = await start();
      const location = freshLocation();
      const line = new TestLine('device-1');
      const lease = leaseOf(await last.bind(location, line));
      for (const node of engine.nodes) {
        const frame = sendFrame();
        expect(await node.send(location, frame)).toBe('written');
        expect(line.taken()).toEqual([{ frame, epoch: lease.epoch }]);
        expect(await node.send(freshLocation(), frame)).toBe('not_connected');
        expect(line.taken()).toEqual([]);
      }
    });

    it('M1 a request to deliver again travels the same way', async () => {
      const { first, last } = await start();
      const location = freshLocation();
      const line = new TestLine('device-1');
      await last.bind(location, line);
      expect(await first.send(location, { type: 'redeliver', seq: 7 })).toBe('written');
      expect(line.taken().map(({ frame }) => frame)).toEqual([{ type: 'redeliver', seq: 7 }]);
    });

    it('M1 a line that cannot take the frame counts as not connected', async () => {
      const { first, last } = await start();
      const location = freshLocation();
      const line = new TestLine('device-1');
      line.overloaded = true;
      await last.bind(location, line);
      expect(await first.send(location, sendFrame())).toBe('not_connected');
    });

    it('M1 another device displaces the first, whose number is stale at once', async () => {
      const { first, last } = await start();
      const location = freshLocation();
      const [old, young] = [new TestLine('device-1'), new TestLine('device-2')];
      const before = await first.bind(location, old);
      const after = await last.bind(location, young);
      expect(before).toMatchObject({ kind: 'bound', displaced: false });
      expect(after).toMatchObject({ kind: 'bound', displaced: true });
      expect(leaseOf(after).epoch).toBeGreaterThan(leaseOf(before).epoch);
      expect(await first.confirm(leaseOf(before))).toBe(false);
      expect(await last.confirm(leaseOf(after))).toBe(true);
      expect(last.isCurrent(leaseOf(after))).toBe(true);
      expect(await first.send(location, sendFrame())).toBe('written');
      expect(young.taken()).toHaveLength(1);
      await until(() => old.cuts.length > 0, { what: 'the first line is told' });
      expect(old.cuts).toEqual(['displaced']);
      expect(first.isCurrent(leaseOf(before))).toBe(false);
      expect([old.taken(), young.cuts]).toEqual([[], []]);
    });

    it('M1 the same device that comes back resumes and displaces nobody', async () => {
      const { first, last } = await start();
      const location = freshLocation();
      const [old, young] = [new TestLine('device-1'), new TestLine('device-1')];
      const before = leaseOf(await first.bind(location, old));
      const after = await last.bind(location, young);
      expect(after).toMatchObject({ kind: 'bound', displaced: false });
      expect(leaseOf(after).epoch).toBeGreaterThan(before.epoch);
      await until(() => old.cuts.length > 0, { what: 'the old line is told' });
      expect(old.cuts).toEqual(['resumed']);
    });

    it('M1 a released location is free at once, and is not released by a stale lease', async () => {
      const { first, last } = await start();
      const location = freshLocation();
      const stale = leaseOf(await first.bind(location, new TestLine('device-1')));
      const line = new TestLine('device-2');
      const lease = leaseOf(await last.bind(location, line));
      await first.release(stale);
      expect(await first.send(location, sendFrame())).toBe('written');
      await last.release(lease);
      await last.release(lease);
      expect(await first.send(location, sendFrame())).toBe('not_connected');
      expect(await last.confirm(lease)).toBe(false);
      expect(line.cuts).toEqual([]);
      const next = await first.bind(location, new TestLine('device-3'));
      expect(next).toMatchObject({ kind: 'bound', displaced: false });
      expect(leaseOf(next).epoch).toBeGreaterThan(lease.epoch);
    });

    it('M8 the operator cuts whoever holds the location, on any node', async () => {
      const { first, last } = await start();
      const location = freshLocation();
      const line = new TestLine('device-1');
      const lease = leaseOf(await last.bind(location, line));
      await first.disconnect(location);
      await first.disconnect(freshLocation());
      await until(() => line.cuts.length > 0, { what: 'the line is told' });
      expect(line.cuts).toEqual(['closed']);
      expect(await last.confirm(lease)).toBe(false);
      expect(await first.send(location, sendFrame())).toBe('not_connected');
    });

    it('M1 says who is connected, over all nodes', async () => {
      const { first, last } = await start();
      const [one, two] = [freshLocation(), freshLocation()];
      const leases = [
        leaseOf(await first.bind(one, new TestLine('device-1'))),
        leaseOf(await last.bind(two, new TestLine('device-2'))),
      ];
      for (const node of [first, last]) {
        const occupants = await node.occupants();
        expect(occupants).toHaveLength(2);
        for (const lease of leases) {
          const occupant = occupants.find(({ locationId }) => locationId === lease.locationId);
          expect(occupant).toMatchObject({ ...lease, node: expect.any(String), since: expect.any(Number) });
        }
      }
    });

    it('M1 a fight is damped: the fourth displacement waits, longer each time, and the incumbent stays', async () => {
      const { engine, first, last } = await start(DAMPED);
      const location = freshLocation();
      await first.bind(location, new TestLine('device-0'));
      for (const device of ['device-1', 'device-0', 'device-1'])
        expect(await last.bind(location, new TestLine(device))).toMatchObject({ displaced: true });
      for (const waitSec of [2, 4, 8])
        expect(await first.bind(location, new TestLine('device-0'))).toEqual({ kind: 'contended', waitSec });
      expect(await first.send(location, sendFrame())).toBe('written');
      // Whoever holds it may come back as often as needed, and other locations are not concerned.
      expect(await first.bind(location, new TestLine('device-1'))).toMatchObject({ displaced: false });
      const other = freshLocation();
      await first.bind(other, new TestLine('device-0'));
      expect(await last.bind(other, new TestLine('device-1'))).toMatchObject({ displaced: true });
      await engine.passTime(DAMPED.windowMs + 100);
      expect(await first.bind(location, new TestLine('device-0'))).toMatchObject({ displaced: true });
    });

    it('M1 a fight that starts again after a quiet window waits from two seconds again, at most 120', async () => {
      const { engine, first } = await start({ displacements: 1, windowMs: 60_000 });
      const location = freshLocation();
      await first.bind(location, new TestLine('device-0'));
      const challenge = (device: string) => first.bind(location, new TestLine(device));
      expect(await challenge('device-1')).toMatchObject({ displaced: true });
      const waits = [];
      for (let tries = 0; tries < 9; tries++) waits.push(await challenge('device-0'));
      expect(waits.map((outcome) => outcome.kind === 'contended' && outcome.waitSec)).toEqual([
        2, 4, 8, 16, 32, 64, 120, 120, 120,
      ]);
      // What counts is the last displacement, not the last refusal.
      await engine.passTime(50_000);
      expect(await challenge('device-0')).toMatchObject({ kind: 'contended' });
      await engine.passTime(10_100);
      expect(await challenge('device-0')).toMatchObject({ displaced: true });
      expect(await challenge('device-1')).toEqual({ kind: 'contended', waitSec: 2 });
    });

    it('M1 of Macs that bind at the same moment one is left, and all others are told', async () => {
      const { engine, first } = await start();
      const location = freshLocation();
      const lines = Array.from({ length: 20 }, (_, index) => new TestLine(`device-${index}`));
      const outcomes = await Promise.all(
        lines.map((line, index) => nodeOf(engine, index).bind(location, line)),
      );
      const epochs = outcomes.map((outcome) => leaseOf(outcome).epoch);
      expect(new Set(epochs).size).toBe(lines.length);
      await until(() => lines.filter((line) => line.cuts.length > 0).length === lines.length - 1, {
        what: 'all but one are cut',
      });
      expect(await first.send(location, sendFrame())).toBe('written');
      const owner = lines.find((line) => line.taken().length === 1);
      expect(owner?.cuts).toEqual([]);
      expect(epochs[lines.findIndex((line) => line === owner)]).toBe(Math.max(...epochs));
    });

    it('M1 whatever happens in whatever order, the newest bind owns the location', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(action(), { minLength: 1, maxLength: 25 }), async (actions) => {
          const { engine } = await start();
          const model = new Model();
          for (const step of actions) await model.play(engine, step);
          await model.settle();
          await engine.close();
          engines.splice(engines.indexOf(engine), 1);
        }),
        { numRuns: 60 },
      );
    });
  });
}

type Action =
  | { readonly do: 'bind'; readonly node: number; readonly location: number; readonly device: number }
  | { readonly do: 'send' | 'disconnect'; readonly node: number; readonly location: number }
  | { readonly do: 'release'; readonly node: number; readonly lease: number };

function action(): fc.Arbitrary<Action> {
  const node = fc.nat({ max: 7 });
  const location = fc.nat({ max: 2 });
  return fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant('bind' as const), node, location, device: fc.nat(2) }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('send' as const), node, location }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('disconnect' as const), node, location }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const), node, lease: fc.nat(20) }) },
  );
}

/** What must be true, in a few lines: the owner of each location, and how every line that lost one was told. */
class Model {
  readonly #locations = [freshLocation(), freshLocation(), freshLocation()];
  readonly #owner = new Map<LocationId, { lease: Lease; line: TestLine }>();
  readonly #leases: { node: Switchboard; lease: Lease; line: TestLine }[] = [];
  readonly #expectedCuts = new Map<TestLine, CutReason[]>();
  #highest = 0;

  async play(engine: SwitchboardEngine, step: Action): Promise<void> {
    if (step.do === 'release') return this.#release(step.lease);
    const node = nodeOf(engine, step.node);
    const location = this.#locations[step.location] ?? freshLocation();
    if (step.do === 'bind') return this.#bind(node, location, new TestLine(`device-${step.device}`));
    if (step.do === 'disconnect') return this.#disconnect(node, location);
    return this.#send(node, location);
  }

  async #bind(node: Switchboard, location: LocationId, line: TestLine): Promise<void> {
    const former = this.#owner.get(location);
    const displaced = former !== undefined && former.line.deviceId !== line.deviceId;
    const outcome = await node.bind(location, line);
    expect(outcome).toMatchObject({ kind: 'bound', displaced });
    const lease = leaseOf(outcome);
    expect(lease.epoch).toBeGreaterThan(this.#highest);
    this.#highest = lease.epoch;
    this.#expectedCuts.set(line, []);
    if (former !== undefined) this.#expectCut(former.line, displaced ? 'displaced' : 'resumed');
    this.#owner.set(location, { lease, line });
    this.#leases.push({ node, lease, line });
  }

  async #send(node: Switchboard, location: LocationId): Promise<void> {
    const frame = sendFrame();
    const owner = this.#owner.get(location);
    expect(await node.send(location, frame)).toBe(owner === undefined ? 'not_connected' : 'written');
    if (owner !== undefined) expect(owner.line.taken()).toEqual([{ frame, epoch: owner.lease.epoch }]);
  }

  async #disconnect(node: Switchboard, location: LocationId): Promise<void> {
    const owner = this.#owner.get(location);
    await node.disconnect(location);
    if (owner !== undefined) this.#expectCut(owner.line, 'closed');
    this.#owner.delete(location);
  }

  // Only the node that holds a line gives its lease back.
  async #release(index: number): Promise<void> {
    const held = this.#leases[index];
    if (held === undefined) return;
    // Who leaves by himself need not be told any more that he lost: wait for the notice that is due.
    await this.#told(held.line);
    await held.node.release(held.lease);
    const owner = this.#owner.get(held.lease.locationId);
    if (owner?.lease.epoch === held.lease.epoch) this.#owner.delete(held.lease.locationId);
  }

  #expectCut(line: TestLine, reason: CutReason): void {
    this.#expectedCuts.get(line)?.push(reason);
  }

  #told(line: TestLine): Promise<true> {
    const due = this.#expectedCuts.get(line)?.length ?? 0;
    return until(() => line.cuts.length >= due, { what: 'every line that lost is told' });
  }

  async settle(): Promise<void> {
    for (const [line, cuts] of this.#expectedCuts) {
      await this.#told(line);
      expect(line.cuts).toEqual(cuts);
      expect(line.taken()).toEqual([]);
    }
    for (const { node, lease } of this.#leases) {
      const current = this.#owner.get(lease.locationId)?.lease.epoch === lease.epoch;
      expect(await node.confirm(lease)).toBe(current);
      expect(node.isCurrent(lease)).toBe(current);
    }
  }
}

class TestLine implements Line {
  readonly sessionId = newRequestId();
  readonly deviceId: string;
  readonly cuts: CutReason[] = [];
  overloaded = false;
  #written: { frame: LineFrame; epoch: number }[] = [];

  constructor(deviceId: string) {
    this.deviceId = deviceId;
  }

  write(frame: LineFrame, epoch: number): 'written' | 'overloaded' {
    if (this.cuts.length > 0) throw new Error('a line that was cut must not be written to');
    if (this.overloaded) return 'overloaded';
    this.#written.push({ frame, epoch });
    return 'written';
  }

  cut(reason: CutReason): void {
    this.cuts.push(reason);
  }

  taken(): { frame: LineFrame; epoch: number }[] {
    return this.#written.splice(0);
  }
}

function freshLocation(): LocationId {
  const id = asLocationId(`loc-${newRequestId()}`);
  if (id === undefined) throw new Error('not a location');
  return id;
}

function sendFrame(): SendFrame {
  return {
    type: 'send',
    requestId: newRequestId(),
    messageId: 'm-1',
    contactId: 'c-1',
    phone: '+15555550100',
    message: 'Hi',
    attachments: [],
    channel: 'imessage',
  };
}

function leaseOf(outcome: BindOutcome): Lease {
  if (outcome.kind !== 'bound') throw new Error(`not bound: ${outcome.kind}`);
  return outcome.lease;
}

function nodeOf(engine: SwitchboardEngine, index: number): Switchboard {
  const node = engine.nodes[index % engine.nodes.length];
  if (node === undefined) throw new Error('an engine needs a node');
  return node;
}
