import { asLocationId, newRequestId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { sendFrame } from '@footbridge/testkit/send-frame';
import { until } from '@footbridge/testkit/until';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';

import { SEND_TIMEOUT_MS } from './switchboard.ts';
import type {
  BindOutcome,
  Contention,
  DisconnectReason,
  Lease,
  MacConnection,
  ReportedStatus,
  RoutedFrame,
  StateReport,
  StatusKeeper,
  Switchboard,
} from './switchboard.ts';

/** Knows of no message. */
export const NO_STATUSES: StatusKeeper = {
  endCalls: async () => 0,
  endRejections: async () => {},
  statusOf: async () => undefined,
};

export interface SwitchboardEngine {
  /** One or more nodes on one engine. The contract holds for calls to any of them. */
  readonly nodes: readonly Switchboard[];
  passTime(ms: number): Promise<void>;
  close(): Promise<void>;
}

export type CreateSwitchboardEngine = (options: { contention: Contention }) => Promise<SwitchboardEngine>;

const UNLIMITED: Contention = { displacements: 1000, windowMs: 60_000 };
const LIMITED: Contention = { displacements: 3, windowMs: 60_000 };

/** The contract of the port, for every engine. Notices between nodes may take a moment; results must not be stale. */
export function switchboardContract(name: string, createEngine: CreateSwitchboardEngine): void {
  describe(`switchboard: ${name}`, () => {
    const engines: SwitchboardEngine[] = [];
    afterEach(async () => {
      for (const engine of engines.splice(0)) await engine.close();
    });
    const start = async (contention = UNLIMITED) => {
      const engine = await createEngine({ contention });
      engines.push(engine);
      const first = engine.nodes.at(0);
      const last = engine.nodes.at(-1);
      if (first === undefined || last === undefined) throw new Error('an engine needs a node');
      return { engine, first, last };
    };

    it('M1 reports no connected Mac before the first bind', async () => {
      const { first, last } = await start();
      expect(await first.send(freshLocation(), sendFrame())).toBe('not_connected');
      expect(await last.boundMacs()).toEqual([]);
      await first.ping();
    });

    it('M1 writes a frame once to the connection that holds the location, from any node', async () => {
      const { engine, last } = await start();
      const location = freshLocation();
      const mac = new TestConnection('device-1');
      const lease = leaseOf(await last.bind(location, mac));
      for (const node of engine.nodes) {
        const frame = sendFrame();
        expect(await node.send(location, frame)).toBe('written');
        expect(mac.taken()).toEqual([{ frame, epoch: lease.epoch }]);
        expect(await node.send(freshLocation(), frame)).toBe('not_connected');
        expect(mac.taken()).toEqual([]);
      }
    });

    it('M1 routes a redeliver frame like a send frame', async () => {
      const { first, last } = await start();
      const location = freshLocation();
      const mac = new TestConnection('device-1');
      await last.bind(location, mac);
      expect(await first.send(location, { type: 'redeliver', seq: 7 })).toBe('written');
      expect(mac.taken().map(({ frame }) => frame)).toEqual([{ type: 'redeliver', seq: 7 }]);
    });

    it('M1 passes the reply of a Mac to the node that asked', async () => {
      const { engine, last } = await start();
      const reply = { type: 'reach_result', requestId: 'r-1', reach: 'SMS', reason: 'sent by SMS' } as const;
      for (const asking of engine.nodes) {
        const heard: (typeof asking)[] = [];
        for (const node of engine.nodes)
          node.onReply((frame) => {
            expect(frame).toEqual(reply);
            if (node === asking) heard.push(node);
            return node === asking;
          });
        last.reply(reply);
        await until(() => heard.length > 0, { what: 'the reply' });
        expect(heard).toEqual([asking]);
      }
    });

    it('M1 reports an overloaded connection as not connected', async () => {
      const { first, last } = await start();
      const location = freshLocation();
      const mac = new TestConnection('device-1');
      mac.overloaded = true;
      await last.bind(location, mac);
      expect(await first.send(location, sendFrame())).toBe('not_connected');
    });

    it('M10 writes a frame only once its connection is ready, in the order of arrival', async () => {
      const { first, last } = await start();
      const location = freshLocation();
      const mac = new TestConnection('device-1');
      const { promise, resolve } = Promise.withResolvers<void>();
      mac.ready = promise;
      await last.bind(location, mac);
      const frames = [sendFrame(), sendFrame(), sendFrame()];
      const outcomes: string[] = [];
      const sending = frames.map(async (frame) => outcomes.push(await first.send(location, frame)));
      // Takes as long as the others would.
      expect(await first.send(freshLocation(), sendFrame())).toBe('not_connected');
      expect([outcomes, mac.taken()]).toEqual([[], []]);
      mac.ready = undefined;
      resolve();
      await Promise.all(sending);
      expect(outcomes).toEqual(['written', 'written', 'written']);
      expect(mac.taken().map(({ frame }) => frame)).toEqual(frames);
    });

    it('M10 reports a connection that does not become ready in time as not connected', async () => {
      const { engine, first, last } = await start();
      const location = freshLocation();
      const mac = new TestConnection('device-1');
      mac.ready = Promise.withResolvers<void>().promise;
      await last.bind(location, mac);
      const sending = first.send(location, sendFrame());
      await engine.passTime(SEND_TIMEOUT_MS);
      expect(await sending).toBe('not_connected');
      expect(mac.taken()).toEqual([]);
    });

    it('M1 displaces the owner when another device binds, and its epoch is stale at once', async () => {
      const { first, last } = await start();
      const location = freshLocation();
      const [old, newer] = [new TestConnection('device-1'), new TestConnection('device-2')];
      const before = await first.bind(location, old);
      const after = await last.bind(location, newer);
      expect(before).toMatchObject({ kind: 'bound', displaced: false });
      expect(after).toMatchObject({ kind: 'bound', displaced: true });
      expect(leaseOf(after).epoch).toBeGreaterThan(leaseOf(before).epoch);
      expect(await first.confirm(leaseOf(before))).toBe(false);
      expect(await last.confirm(leaseOf(after))).toBe(true);
      expect(last.isCurrent(leaseOf(after))).toBe(true);
      expect(await first.send(location, sendFrame())).toBe('written');
      expect(newer.taken()).toHaveLength(1);
      await until(() => old.disconnects.length > 0, { what: 'the first connection is disconnected' });
      expect(old.disconnects).toEqual(['displaced']);
      expect(first.isCurrent(leaseOf(before))).toBe(false);
      expect([old.taken(), newer.disconnects]).toEqual([[], []]);
    });

    it('M1 resumes when the same device binds again, without a displacement', async () => {
      const { first, last } = await start();
      const location = freshLocation();
      const [old, newer] = [new TestConnection('device-1'), new TestConnection('device-1')];
      const before = leaseOf(await first.bind(location, old));
      const after = await last.bind(location, newer);
      expect(after).toMatchObject({ kind: 'bound', displaced: false });
      expect(leaseOf(after).epoch).toBeGreaterThan(before.epoch);
      await until(() => old.disconnects.length > 0, { what: 'the old connection is disconnected' });
      expect(old.disconnects).toEqual(['resumed']);
    });

    it('M1 frees a released location at once, and ignores the release of a stale lease', async () => {
      const { first, last } = await start();
      const location = freshLocation();
      const stale = leaseOf(await first.bind(location, new TestConnection('device-1')));
      const mac = new TestConnection('device-2');
      const lease = leaseOf(await last.bind(location, mac));
      await first.release(stale);
      expect(await first.send(location, sendFrame())).toBe('written');
      await last.release(lease);
      await last.release(lease);
      expect(await first.send(location, sendFrame())).toBe('not_connected');
      expect(await last.confirm(lease)).toBe(false);
      expect(mac.disconnects).toEqual([]);
      const next = await first.bind(location, new TestConnection('device-3'));
      expect(next).toMatchObject({ kind: 'bound', displaced: false });
      expect(leaseOf(next).epoch).toBeGreaterThan(lease.epoch);
    });

    it('A4 knows that calls have ended once the former owner has ended its calls, and the one before it', async () => {
      const { engine, first, last } = await start();
      const location = freshLocation();
      const { promise, resolve } = Promise.withResolvers<number>();
      const asked: string[] = [];
      first.keepStatuses({ ...NO_STATUSES, endCalls: (id) => (asked.push(id), promise) });
      const leases: Lease[] = [];
      for (const node of engine.nodes)
        leases.push(leaseOf(await node.bind(location, new TestConnection('device-1'))));
      const lease = leases.at(-1);
      if (lease === undefined) throw new Error('not bound');
      let hasEnded = false;
      const ending = last.callsEnded(lease).then(() => (hasEnded = true));
      if (engine.nodes.length > 1) {
        await until(() => asked.length > 0);
        await last.boundMacs();
        expect([asked, hasEnded]).toEqual([[location], false]);
      }
      resolve(0);
      await ending;
    });

    it('A5 asks all other nodes for a message, and takes the newest answer', async () => {
      const { engine, first, last } = await start();
      const location = freshLocation();
      const known = (epoch: number, status: ReportedStatus['status'] = 'pending') => ({
        status,
        isUnderWay: true,
        epoch,
      });
      for (const [index, node] of engine.nodes.entries())
        node.keepStatuses({
          ...NO_STATUSES,
          statusOf: async (locationId, messageId) =>
            locationId === location && messageId === 'known' ? known(index) : undefined,
        });
      const elsewhere = async (node: Switchboard, messageId: string) =>
        node.statusElsewhere(messageId, leaseOf(await node.bind(location, new TestConnection('device-1'))));
      const newest = engine.nodes.length - 1;
      await elsewhere(last, 'known');
      expect(await elsewhere(first, 'known')).toEqual(newest > 0 ? known(newest) : undefined);
      expect(await elsewhere(last, 'unknown')).toBeUndefined();
      first.keepStatuses({ ...NO_STATUSES, statusOf: async () => known(0, 'delivered') });
      expect(await elsewhere(last, 'known')).toEqual(newest > 0 ? known(0, 'delivered') : undefined);
    });

    it('A5 asks other nodes for a message only after one of them had the location', async () => {
      const { engine, first, last } = await start();
      const location = freshLocation();
      const known = { status: 'pending', isUnderWay: true, epoch: 1 } as const;
      for (const node of engine.nodes) node.keepStatuses({ ...NO_STATUSES, statusOf: async () => known });
      const before = leaseOf(await first.bind(location, new TestConnection('device-1')));
      expect(await first.statusElsewhere('m1', before)).toBeUndefined();
      const after = leaseOf(await last.bind(location, new TestConnection('device-1')));
      expect(await last.statusElsewhere('m1', after)).toEqual(engine.nodes.length > 1 ? known : undefined);
    });

    it('A5 knows whether a rejected message is under way at another node', async () => {
      const { engine, first } = await start();
      for (const node of engine.nodes)
        node.keepStatuses({
          ...NO_STATUSES,
          statusOf: async (_locationId, messageId) =>
            messageId === 'unknown'
              ? undefined
              : { status: 'none', isUnderWay: messageId === 'accepted', epoch: 1 },
        });
      const isUnderWay = (messageId: string) => first.isUnderWayElsewhere('loc1', messageId);
      expect(await isUnderWay('accepted')).toBe(engine.nodes.length > 1);
      expect(await isUnderWay('rejected')).toBe(false);
      expect(await isUnderWay('unknown')).toBe(false);
    });

    it('A5 ends the reports of a node that rejected a message before another node accepts it', async () => {
      const { engine, first, last } = await start();
      const location = freshLocation();
      const { promise, resolve } = Promise.withResolvers<void>();
      const ended: string[] = [];
      first.keepStatuses({
        ...NO_STATUSES,
        endRejections: (...message) => (ended.push(message.join(' ')), promise),
      });
      await first.isUnderWayElsewhere(location, 'rejected');
      const lease = leaseOf(await last.bind(location, new TestConnection('device-1')));
      await last.statusElsewhere('another', lease);
      let isEnded = false;
      const accepting = last.statusElsewhere('rejected', lease).then(() => (isEnded = true));
      if (engine.nodes.length > 1) {
        await until(() => ended.length > 0);
        await last.boundMacs();
        expect([ended, isEnded]).toEqual([[`${location} rejected`], false]);
      }
      resolve();
      await accepting;
    });

    it.each(['closed', 'moved'] as const)(
      'M8 disconnects the Mac of a location, on any node: %s',
      async (reason) => {
        const { first, last } = await start();
        const location = freshLocation();
        const mac = new TestConnection('device-1');
        const lease = leaseOf(await last.bind(location, mac));
        await first.disconnect(location, reason);
        await first.disconnect(freshLocation(), reason);
        await until(() => mac.disconnects.length > 0, { what: 'the Mac is disconnected' });
        expect(mac.disconnects).toEqual([reason]);
        expect(await last.confirm(lease)).toBe(false);
        expect(await first.send(location, sendFrame())).toBe('not_connected');
      },
    );

    it('M1 lists the connected Macs of all nodes', async () => {
      const { first, last } = await start();
      const [one, two] = [freshLocation(), freshLocation()];
      const leases = [
        leaseOf(await first.bind(one, new TestConnection('device-1'))),
        leaseOf(await last.bind(two, new TestConnection('device-2'))),
      ];
      for (const node of [first, last]) {
        const macs = await node.boundMacs();
        expect(macs).toHaveLength(2);
        for (const lease of leases) {
          const mac = macs.find(({ locationId }) => locationId === lease.locationId);
          expect(mac).toMatchObject({ ...lease, node: expect.any(String), since: expect.any(Number) });
        }
      }
    });

    it('T52 lists only the Macs of one device on request', async () => {
      const { first, last } = await start();
      const { locationId } = leaseOf(await last.bind(freshLocation(), new TestConnection('device-1')));
      await first.bind(freshLocation(), new TestConnection('device-2'));
      for (const node of [first, last]) {
        const macs = await node.boundMacs({ deviceId: 'device-1' });
        expect(macs.map((mac) => mac.locationId)).toEqual([locationId]);
        expect(await node.boundMacs({ deviceId: 'device-3' })).toEqual([]);
      }
    });

    it('M1 shows the states that Macs of any node reported, by location', async () => {
      const { first, last } = await start();
      const [one, two] = [new TestConnection('device-1'), new TestConnection('device-2')];
      const location = leaseOf(await first.bind(freshLocation(), one)).locationId;
      const other = leaseOf(await last.bind(freshLocation(), two)).locationId;
      one.stateReport = {
        at: 1,
        state: { type: 'state', capabilities: ['text'], lastSentAt: null, lastReceivedAt: null },
      };
      for (const node of [first, last]) {
        const macs = await node.viewMacs();
        expect(macs.size).toBe(2);
        expect(macs.get(location)).toMatchObject({ deviceId: 'device-1', stateReport: one.stateReport });
        expect(macs.get(other)).not.toHaveProperty('stateReport');
        expect(macs.get('unknown')).toBeUndefined();
        expect(Array.from(macs.values(), ({ deviceId }) => deviceId).toSorted()).toEqual([
          'device-1',
          'device-2',
        ]);
        for (const mac of await node.boundMacs()) expect(mac).not.toHaveProperty('stateReport');
      }
    });

    it('M1 rejects the fourth displacement in a window, with a longer wait each time, and the owner stays', async () => {
      const { engine, first, last } = await start(LIMITED);
      const location = freshLocation();
      await first.bind(location, new TestConnection('device-0'));
      for (const device of ['device-1', 'device-0', 'device-1'])
        expect(await last.bind(location, new TestConnection(device))).toMatchObject({ displaced: true });
      for (const waitSec of [2, 4, 8])
        expect(await first.bind(location, new TestConnection('device-0'))).toEqual({
          kind: 'contended',
          waitSec,
        });
      expect(await first.send(location, sendFrame())).toBe('written');
      // The owner may reconnect as often as needed, and other locations are not affected.
      expect(await first.bind(location, new TestConnection('device-1'))).toMatchObject({ displaced: false });
      const other = freshLocation();
      await first.bind(other, new TestConnection('device-0'));
      expect(await last.bind(other, new TestConnection('device-1'))).toMatchObject({ displaced: true });
      await engine.passTime(LIMITED.windowMs + 100);
      expect(await first.bind(location, new TestConnection('device-0'))).toMatchObject({ displaced: true });
    });

    it('M1 starts the wait at two seconds again after a window without displacements, and caps it at 120', async () => {
      const { engine, first } = await start({ displacements: 1, windowMs: 60_000 });
      const location = freshLocation();
      await first.bind(location, new TestConnection('device-0'));
      const bind = (device: string) => first.bind(location, new TestConnection(device));
      expect(await bind('device-1')).toMatchObject({ displaced: true });
      const waits = [];
      for (let tries = 0; tries < 9; tries++) waits.push(await bind('device-0'));
      expect(waits.map((outcome) => outcome.kind === 'contended' && outcome.waitSec)).toEqual([
        2, 4, 8, 16, 32, 64, 120, 120, 120,
      ]);
      // The window starts at the last displacement, not at the last rejection.
      await engine.passTime(50_000);
      expect(await bind('device-0')).toMatchObject({ kind: 'contended' });
      await engine.passTime(10_100);
      expect(await bind('device-0')).toMatchObject({ displaced: true });
      expect(await bind('device-1')).toEqual({ kind: 'contended', waitSec: 2 });
    });

    it('M1 leaves one owner of many simultaneous binds, and disconnects all others', async () => {
      const { engine, first } = await start();
      const location = freshLocation();
      const macs = Array.from({ length: 20 }, (_, index) => new TestConnection(`device-${index}`));
      const outcomes = await Promise.all(macs.map((mac, index) => nodeOf(engine, index).bind(location, mac)));
      const epochs = outcomes.map((outcome) => leaseOf(outcome).epoch);
      expect(new Set(epochs).size).toBe(macs.length);
      await until(() => macs.filter((mac) => mac.disconnects.length > 0).length === macs.length - 1, {
        what: 'all but one are disconnected',
      });
      expect(await first.send(location, sendFrame())).toBe('written');
      const owner = macs.find((mac) => mac.taken().length === 1);
      expect(owner?.disconnects).toEqual([]);
      expect(epochs[macs.findIndex((mac) => mac === owner)]).toBe(Math.max(...epochs));
    });

    it('M1 gives the location to the newest bind, for any order of operations', async () => {
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

/** The reference model: the owner of each location, and the disconnects that every connection must see. */
class Model {
  readonly #locations = [freshLocation(), freshLocation(), freshLocation()];
  readonly #owner = new Map<LocationId, { lease: Lease; mac: TestConnection }>();
  readonly #leases: { node: Switchboard; lease: Lease; mac: TestConnection }[] = [];
  readonly #expectedDisconnects = new Map<TestConnection, DisconnectReason[]>();
  #highest = 0;

  async play(engine: SwitchboardEngine, step: Action): Promise<void> {
    if (step.do === 'release') return this.#release(step.lease);
    const node = nodeOf(engine, step.node);
    const location = this.#locations[step.location] ?? freshLocation();
    if (step.do === 'bind') return this.#bind(node, location, new TestConnection(`device-${step.device}`));
    if (step.do === 'disconnect') return this.#disconnect(node, location);
    return this.#send(node, location);
  }

  async #bind(node: Switchboard, location: LocationId, mac: TestConnection): Promise<void> {
    const previous = this.#owner.get(location);
    const displaced = previous !== undefined && previous.mac.deviceId !== mac.deviceId;
    const outcome = await node.bind(location, mac);
    expect(outcome).toMatchObject({ kind: 'bound', displaced });
    const lease = leaseOf(outcome);
    expect(lease.epoch).toBeGreaterThan(this.#highest);
    this.#highest = lease.epoch;
    this.#expectedDisconnects.set(mac, []);
    if (previous !== undefined) this.#expectDisconnect(previous.mac, displaced ? 'displaced' : 'resumed');
    this.#owner.set(location, { lease, mac });
    this.#leases.push({ node, lease, mac });
  }

  async #send(node: Switchboard, location: LocationId): Promise<void> {
    const frame = sendFrame();
    const owner = this.#owner.get(location);
    expect(await node.send(location, frame)).toBe(owner === undefined ? 'not_connected' : 'written');
    if (owner !== undefined) expect(owner.mac.taken()).toEqual([{ frame, epoch: owner.lease.epoch }]);
  }

  async #disconnect(node: Switchboard, location: LocationId): Promise<void> {
    const owner = this.#owner.get(location);
    await node.disconnect(location, 'closed');
    this.#owner.delete(location);
    if (owner === undefined) return;
    this.#expectDisconnect(owner.mac, 'closed');
    // A bind on the owner's node could overtake the notice and report `displaced` instead.
    await this.#settled(owner.mac);
  }

  // Only the node that holds a connection releases its lease.
  async #release(index: number): Promise<void> {
    const held = this.#leases[index];
    if (held === undefined) return;
    // A released connection gets no disconnect any more, so wait for one that is due.
    await this.#settled(held.mac);
    await held.node.release(held.lease);
    const owner = this.#owner.get(held.lease.locationId);
    if (owner?.lease.epoch === held.lease.epoch) this.#owner.delete(held.lease.locationId);
  }

  #expectDisconnect(mac: TestConnection, reason: DisconnectReason): void {
    this.#expectedDisconnects.get(mac)?.push(reason);
  }

  #settled(mac: TestConnection): Promise<true> {
    const due = this.#expectedDisconnects.get(mac)?.length ?? 0;
    return until(() => mac.disconnects.length >= due, { what: 'every connection that lost is disconnected' });
  }

  async settle(): Promise<void> {
    for (const [mac, disconnects] of this.#expectedDisconnects) {
      await this.#settled(mac);
      expect(mac.disconnects).toEqual(disconnects);
      expect(mac.taken()).toEqual([]);
    }
    for (const { node, lease } of this.#leases) {
      const current = this.#owner.get(lease.locationId)?.lease.epoch === lease.epoch;
      expect(await node.confirm(lease)).toBe(current);
      expect(node.isCurrent(lease)).toBe(current);
    }
  }
}

class TestConnection implements MacConnection {
  readonly sessionId = newRequestId();
  readonly deviceId: string;
  readonly disconnects: DisconnectReason[] = [];
  overloaded = false;
  ready: Promise<void> | undefined;
  stateReport: StateReport | undefined;
  #written: { frame: RoutedFrame; epoch: number }[] = [];

  constructor(deviceId: string) {
    this.deviceId = deviceId;
  }

  write(frame: RoutedFrame, epoch: number): 'written' | 'overloaded' {
    if (this.disconnects.length > 0) throw new Error('write after disconnect');
    if (this.ready !== undefined) throw new Error('write before the connection is ready');
    if (this.overloaded) return 'overloaded';
    this.#written.push({ frame, epoch });
    return 'written';
  }

  disconnect(reason: DisconnectReason): void {
    this.disconnects.push(reason);
  }

  repeat(): void {}

  taken(): { frame: RoutedFrame; epoch: number }[] {
    return this.#written.splice(0);
  }
}

function freshLocation(): LocationId {
  const id = asLocationId(`loc-${newRequestId()}`);
  if (id === undefined) throw new Error('not a location');
  return id;
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
