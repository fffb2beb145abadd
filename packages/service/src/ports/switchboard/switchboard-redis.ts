import { randomUUID } from 'node:crypto';

import type { LocationId } from '@footbridge/protocol/ids';

import { every, sleep } from '../../clock.ts';
import type { Clock } from '../../clock.ts';
import { EngineError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Redis } from '../../redis/open-redis.ts';
import type { Ask, AskOutcome, Cut } from './bus.ts';
import { PATIENCE_MS, RedisLeases, SHARDS, shardOf, TTL_MS } from './leases-redis.ts';
import type { Owner, Renewal, Seat } from './leases-redis.ts';
import { NodeBus } from './node-bus-redis.ts';
import type { Hearing } from './node-bus-redis.ts';
import { CONTENTION, contendedWaitSec } from './switchboard.ts';
import type {
  BindOutcome,
  Contention,
  CutReason,
  Lease,
  Line,
  LineFrame,
  Occupant,
  SendOutcome,
  Switchboard,
} from './switchboard.ts';

/** Every lease is renewed this often, one shard after the other, so that many Macs make no storm. */
const RENEW_MS = 3000;
/** A line whose lease was not confirmed for this long is let go, before the lease can end. */
const FENCE_MS = TTL_MS - 2000;
const FENCE_CHECK_TICKS = 10;
/** After Redis forgot everything, whoever has a newer number shows up within one round of renewals. */
const PROOF_MS = RENEW_MS + 500;
/** Most of them within this: as soon as they hear of it, or are connected again. Until then nothing is written. */
const SHOWS_UP_MS = 1200;
/** The asker has an outcome after this, a moment more or less. */
export const ANSWER_MS = 1500;
/** The owner refuses what reaches it later than this, so that nothing is written after the asker has given up. */
const NOT_AFTER_MS = 1200;
const LOOK_AGAIN_MS = 50;
/** Ticks this far apart mean that the whole process stood still. */
const FREEZE_MS = 500;
const AWAY = 'Redis is away: the owner of the location is not known';
const FORGOTTEN = 'Redis had forgotten its leases: the owner of the location is not certain yet';

export interface RedisSwitchboardOptions {
  readonly redis: Redis;
  readonly nodeSecret: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly node?: string;
  readonly contention?: Contention;
}

interface Held {
  readonly lease: Lease;
  readonly line: Line;
  readonly since: number;
  readonly shard: number;
  /** Monotonic time at which Redis was last asked with success. */
  confirmedAt: number;
  /** Monotonic time from which on the lease is proof again, after Redis had forgotten it; and from which on the line may be used. */
  provenAt: number;
  usableAt: number;
}

/** Several nodes over one Redis: leases with growing epochs, and a question with an answer to the node that holds the socket. */
export async function createRedisSwitchboard(options: RedisSwitchboardOptions): Promise<Switchboard> {
  const switchboard = new RedisSwitchboard(options);
  await switchboard.open();
  return switchboard;
}

class RedisSwitchboard implements Switchboard, Hearing {
  readonly #redis: Redis;
  readonly #leases: RedisLeases;
  readonly #bus: NodeBus;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #node: string;
  readonly #held = new Map<LocationId, Held>();
  readonly #shards: readonly Set<Held>[] = Array.from({ length: SHARDS }, () => new Set<Held>());
  /** Sessions whose bind is under way, and the cut that overtook its answer. */
  readonly #binding = new Map<string, CutReason | undefined>();
  /** Questions of the last rounds of renewals: longer than any of them is worth an answer. */
  #answered = new Set<string>();
  #answeredBefore = new Set<string>();
  #tick = 0;
  #tickedAt: number;
  #thawedAt = -Infinity;
  #oldNewsUntil = 0;
  #stopTicking: () => void = () => {};
  #closed = false;

  constructor(options: RedisSwitchboardOptions) {
    const { redis, nodeSecret, clock, log, node = randomUUID(), contention = CONTENTION } = options;
    this.#redis = redis;
    this.#clock = clock;
    this.#log = log;
    this.#node = node;
    this.#tickedAt = clock.monotonic();
    this.#leases = new RedisLeases({ redis, node, clock, contention });
    this.#bus = new NodeBus({ redis, nodeSecret, node, clock, log, hearing: this });
  }

  async open(): Promise<void> {
    await this.#leases.open();
    await this.#bus.open();
    this.#redis.onBack(() => this.#renewAll());
    this.#stopTicking = every(this.#clock, RENEW_MS / SHARDS, () => this.#tend());
  }

  async bind(locationId: LocationId, line: Line): Promise<BindOutcome> {
    this.#refuseWhenClosed();
    const { sessionId, deviceId } = line;
    const askedAt = this.#clock.monotonic();
    this.#binding.set(sessionId, undefined);
    try {
      const taken = await this.#leases.bind(locationId, { sessionId, deviceId });
      if (taken.kind === 'contended') return { kind: 'contended', waitSec: contendedWaitSec(taken.refusals) };
      this.#refuseWhenClosed();
      const lease: Lease = { locationId, deviceId, sessionId, epoch: taken.epoch };
      const displaced = taken.former !== undefined && taken.former.deviceId !== deviceId;
      if (taken.former !== undefined)
        this.#tellFormer(locationId, taken.former, displaced ? 'displaced' : 'resumed');
      this.#hold(lease, line, askedAt, taken.former?.deviceId);
      return { kind: 'bound', lease, displaced };
    } catch (error) {
      // Redis may have done it all the same; nobody shall look for the Mac here.
      void this.#giveBack(locationId, sessionId);
      throw error;
    } finally {
      this.#binding.delete(sessionId);
    }
  }

  async send(locationId: LocationId, frame: LineFrame): Promise<SendOutcome> {
    this.#refuseWhenClosed();
    const giveUpAt = this.#clock.monotonic() + ANSWER_MS;
    let before: Owner | undefined;
    const isOver = (pauseMs: number) => this.#clock.monotonic() + pauseMs > giveUpAt;
    for (let pauseMs = LOOK_AGAIN_MS; ; pauseMs *= 2) {
      const owner = await this.#ownerOf(locationId);
      if (owner === 'unknown') {
        if (await this.#redis.isGone()) return this.#sendAlone(locationId, frame);
        // It may be us who are cut off, and another Mac may have the location by now.
        if (isOver(pauseMs + PATIENCE_MS)) throw new EngineError('redis', AWAY);
        await sleep(this.#clock, pauseMs);
        continue;
      }
      if (owner === undefined) {
        if (!(await this.#restore(locationId))) return 'not_connected';
        if (isOver(pauseMs)) throw new EngineError('redis', FORGOTTEN);
        continue;
      }
      if (owner.node === this.#node && this.#held.get(locationId)?.lease.sessionId !== owner.sessionId)
        return 'not_connected';
      this.#dropStale(locationId, owner);
      const outcome =
        owner.node === this.#node
          ? this.#writeLocally(locationId, owner.epoch, frame)
          : await this.#ask(owner, locationId, frame);
      if (outcome === 'written') return 'written';
      if (outcome === 'overloaded') return 'not_connected';
      if (outcome === 'soon') {
        if (isOver(LOOK_AGAIN_MS)) throw new EngineError('redis', FORGOTTEN);
        await sleep(this.#clock, LOOK_AGAIN_MS);
        pauseMs = LOOK_AGAIN_MS;
        continue;
      }
      // Not written, that much is certain. The Mac may be on its way to another node, or its node just coming back to Redis.
      const isGhost = outcome === 'stale' && before?.sessionId === owner.sessionId;
      if (isGhost || isOver(pauseMs)) return 'not_connected';
      before = owner;
      await sleep(this.#clock, pauseMs);
    }
  }

  isCurrent(lease: Lease): boolean {
    return this.#current(lease) !== undefined;
  }

  async confirm(lease: Lease): Promise<boolean> {
    for (;;) {
      const held = this.#current(lease);
      if (held === undefined) return false;
      const unprovenMs = held.provenAt - this.#clock.monotonic();
      if (unprovenMs > 0) {
        await sleep(this.#clock, unprovenMs);
        continue;
      }
      const owner = await this.#freshOwner(lease.locationId);
      if (owner?.epoch === lease.epoch) return this.isCurrent(lease);
      if (owner !== undefined) this.#dropStale(lease.locationId, owner);
      await this.#restore(lease.locationId);
    }
  }

  async release(lease: Lease): Promise<void> {
    const held = this.#held.get(lease.locationId);
    if (held?.lease.epoch === lease.epoch) this.#forget(held);
    await this.#giveBack(lease.locationId, lease.sessionId);
  }

  async disconnect(locationId: LocationId): Promise<void> {
    const former = await this.#leases.release(locationId);
    if (former !== undefined) this.#tellFormer(locationId, former, 'closed');
  }

  async occupants(): Promise<Occupant[]> {
    return newestPerLocation(await this.#bus.occupants());
  }

  ping(): Promise<void> {
    return this.#redis.ping();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopTicking();
    const held = [...this.#held.values()];
    for (const one of held) this.#forget(one);
    await Promise.all(held.map(({ lease }) => this.#giveBack(lease.locationId, lease.sessionId)));
    for (const { line } of held) line.cut('fenced');
  }

  asked({ id, locationId, epoch, notAfter, frame }: Ask): AskOutcome {
    if (this.#leases.time.latest() > notAfter || this.#isRepeated(id)) return 'stale';
    // Made where the request was parsed, on the node that asks.
    return this.#writeLocally(locationId as LocationId, epoch, frame);
  }

  cut({ locationId, sessionId, reason }: Cut): void {
    this.#cutSession(locationId as LocationId, sessionId, reason);
  }

  forgotten(): void {
    this.#isNews();
  }

  here(): Occupant[] {
    return Array.from(this.#held.values(), ({ lease, since }) => ({ ...lease, since, node: this.#node }));
  }

  /** While Redis is down for everybody no location changes hands: a line that is still within its time may be used, anything else is our failure. */
  #sendAlone(locationId: LocationId, frame: LineFrame): SendOutcome {
    const held = this.#held.get(locationId);
    const outcome = held === undefined ? 'stale' : this.#writeLocally(locationId, held.lease.epoch, frame);
    if (outcome === 'written') return 'written';
    if (outcome === 'overloaded') return 'not_connected';
    throw new EngineError('redis', AWAY);
  }

  #writeLocally(locationId: LocationId, epoch: number, frame: LineFrame): AskOutcome {
    const held = this.#held.get(locationId);
    if (held === undefined || held.lease.epoch !== epoch || !this.#isAlive(held)) return 'stale';
    return this.#clock.monotonic() < held.usableAt ? 'soon' : held.line.write(frame, epoch);
  }

  async #ask({ node, epoch }: Owner, locationId: LocationId, frame: LineFrame) {
    const notAfter = this.#leases.time.earliest() + NOT_AFTER_MS;
    const outcome = await this.#bus.ask(node, { locationId, epoch, notAfter, frame }, ANSWER_MS);
    if (outcome !== 'silence') return outcome;
    throw new EngineError(
      'switchboard',
      'the node that holds the Mac does not answer: the frame may be written or not',
    );
  }

  /** Whoever can publish could play a sealed question again while it is still young. */
  #isRepeated(id: string): boolean {
    if (this.#answered.has(id) || this.#answeredBefore.has(id)) return true;
    this.#answered.add(id);
    return false;
  }

  /** `lostTo`: who had the location until now. A line of ours that lost it to them may not have heard of it yet. */
  #hold(lease: Lease, line: Line, confirmedAt: number, lostTo = lease.deviceId): void {
    const early = this.#binding.get(lease.sessionId);
    if (early !== undefined) return line.cut(early);
    const former = this.#held.get(lease.locationId);
    if (former !== undefined && former.lease.epoch > lease.epoch)
      return line.cut(lossTo(former.lease.deviceId, lease));
    if (former !== undefined) this.#drop(former, lossTo(lostTo, former.lease));
    const shard = shardOf(lease.locationId);
    const held = { lease, line, shard, since: this.#clock.now(), confirmedAt, provenAt: 0, usableAt: 0 };
    this.#held.set(lease.locationId, held);
    this.#shards[shard]?.add(held);
  }

  #forget(held: Held): void {
    this.#held.delete(held.lease.locationId);
    this.#shards[held.shard]?.delete(held);
  }

  #drop(held: Held, reason: CutReason): void {
    this.#forget(held);
    held.line.cut(reason);
  }

  #tellFormer(
    locationId: LocationId,
    { node, sessionId }: Pick<Seat, 'node' | 'sessionId'>,
    reason: CutReason,
  ): void {
    if (node === this.#node) this.#cutSession(locationId, sessionId, reason);
    else this.#bus.cut(node, { locationId, sessionId, reason });
  }

  #cutSession(locationId: LocationId, sessionId: string, reason: CutReason): void {
    const held = this.#held.get(locationId);
    if (held?.lease.sessionId === sessionId) this.#drop(held, reason);
    else if (this.#binding.has(sessionId)) this.#binding.set(sessionId, reason);
  }

  /** A newer owner is known: our line for this location is history, whether the notice arrived or not. */
  #dropStale(locationId: LocationId, owner: Owner): void {
    const held = this.#held.get(locationId);
    if (held !== undefined && held.lease.epoch < owner.epoch)
      this.#drop(held, lossTo(owner.deviceId, held.lease));
  }

  #tend(): void {
    const now = this.#clock.monotonic();
    if (now - this.#tickedAt > FREEZE_MS) this.#thawedAt = now;
    this.#tickedAt = now;
    const shard = this.#shards[this.#tick++ % SHARDS];
    if (shard !== undefined && shard.size > 0) void this.#renew([...shard]);
    if (this.#tick % FENCE_CHECK_TICKS === 0) this.#fenceLate();
    if (this.#tick % SHARDS !== 0) return;
    this.#answeredBefore = this.#answered;
    this.#answered = new Set();
  }

  #renewAll(): void {
    for (const shard of this.#shards) if (shard.size > 0) void this.#renew([...shard]);
  }

  /** Never rejects: what could not be renewed in time is fenced. */
  async #renew(those: readonly Held[]): Promise<void> {
    const askedAt = this.#clock.monotonic();
    try {
      const renewals = await this.#leases.renew(those.map(({ lease }) => lease));
      const forgotten = those.filter((held, index) => this.#renewed(held, renewals[index], askedAt));
      if (forgotten.length > 0 && this.#isNews()) this.#bus.forgotten();
    } catch (error) {
      this.#log.debug({ err: error, leases: those.length }, 'leases could not be renewed');
    }
  }

  /** Redis forgot leases. Unless it is known already, all of them are renewed at once. */
  #isNews(): boolean {
    const now = this.#clock.monotonic();
    if (now < this.#oldNewsUntil) return false;
    this.#oldNewsUntil = now + RENEW_MS;
    this.#log.warn({ leases: this.#held.size }, 'Redis had forgotten its leases; they are put back');
    this.#renewAll();
    return true;
  }

  /** Answers whether Redis had forgotten it. */
  #renewed(held: Held, renewal: Renewal | undefined, askedAt: number): boolean {
    if (renewal === undefined || renewal.kind === 'late') return false;
    if (renewal.kind === 'lost') {
      if (this.#held.get(held.lease.locationId) === held)
        this.#drop(held, renewal.to === undefined ? 'closed' : lossTo(renewal.to, held.lease));
      return false;
    }
    held.confirmedAt = Math.max(held.confirmedAt, askedAt);
    if (renewal.kind === 'kept') return false;
    const now = this.#clock.monotonic();
    held.provenAt = now + PROOF_MS;
    held.usableAt = now + SHOWS_UP_MS;
    return true;
  }

  /** Redis forgot the lease of a line that is here: try to have it back. */
  async #restore(locationId: LocationId): Promise<boolean> {
    const held = this.#held.get(locationId);
    if (held === undefined || !this.#isAlive(held)) return false;
    await this.#renew([held]);
    return this.#held.get(locationId) === held;
  }

  #fenceLate(): void {
    for (const held of this.#held.values()) if (!this.#isAlive(held)) this.#drop(held, 'fenced');
  }

  #current(lease: Lease): Held | undefined {
    const held = this.#held.get(lease.locationId);
    return held?.lease.epoch === lease.epoch && this.#isAlive(held) ? held : undefined;
  }

  #isAlive(held: Held): boolean {
    return this.#clock.monotonic() - held.confirmedAt < FENCE_MS;
  }

  async #ownerOf(locationId: LocationId): Promise<Owner | undefined | 'unknown'> {
    try {
      return await this.#freshOwner(locationId);
    } catch {
      return 'unknown';
    }
  }

  /** What Redis answered before this process was frozen is history by the time it is read. */
  async #freshOwner(locationId: LocationId): Promise<Owner | undefined> {
    for (;;) {
      const askedAt = this.#clock.monotonic();
      const owner = await this.#leases.owner(locationId);
      // Sockets may be read before the tick that notices the freeze.
      const isFrozen = this.#clock.monotonic() - this.#tickedAt > FREEZE_MS;
      if ((!isFrozen && this.#thawedAt < askedAt) || this.#closed) return owner;
      await sleep(this.#clock, 1);
    }
  }

  async #giveBack(locationId: LocationId, sessionId: string): Promise<void> {
    try {
      await this.#leases.release(locationId, sessionId);
    } catch (error) {
      this.#log.debug({ err: error }, 'a lease could not be given back; it ends by itself');
    }
  }

  #refuseWhenClosed(): void {
    if (this.#closed) throw new EngineError('switchboard', 'the switchboard is closed');
  }
}

/** How a line lost its location to a device: to itself, come back, or to another Mac. */
const lossTo = (deviceId: string, lost: Lease): CutReason =>
  deviceId === lost.deviceId ? 'resumed' : 'displaced';

function newestPerLocation(all: Occupant[]): Occupant[] {
  const newest = new Map<string, Occupant>();
  for (const occupant of all)
    if ((newest.get(occupant.locationId)?.epoch ?? 0) < occupant.epoch)
      newest.set(occupant.locationId, occupant);
  return [...newest.values()];
}
