import { randomUUID } from 'node:crypto';

import type { ReachResultFrame } from '@footbridge/protocol/frames';
import type { LocationId } from '@footbridge/protocol/ids';
import { every } from '@footbridge/runtime/clock';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import { EngineError } from '../../platform/errors.ts';
import type { Redis } from '../../platform/redis/open-redis.ts';
import type {
  DisconnectNotice,
  EndCallsRequest,
  EndedCalls,
  StatusQuestion,
  TakeOverRequest,
  WriteRequest,
  WriteResult,
} from './bus.ts';
import { FrameCopies } from './frame-copies-redis.ts';
import { HandOver } from './hand-over-redis.ts';
import { LEASE_TTL_MS, REDIS_TIMEOUT_MS, RedisLeases, SHARDS, shardOf } from './leases-redis.ts';
import type { LeaseHolder, LeaseKeeper, Renewal, StoredLease } from './leases-redis.ts';
import { NodeBus } from './node-bus-redis.ts';
import type { BusHandler } from './node-bus-redis.ts';
import type { HandedFrame, SendLedger } from './send-ledger.ts';
import { FormerOwners } from './former-owners-redis.ts';
import {
  CONTENTION,
  SEND_TIMEOUT_MS,
  SETTLE_TIMEOUT_MS,
  OwnerUnknownError,
  UncertainSendError,
  boundMacsOf,
  contendedWaitSec,
  untilReady,
} from './switchboard.ts';
import type {
  BindOutcome,
  Contention,
  DisconnectReason,
  Lease,
  MacConnection,
  RoutedFrame,
  BoundMac,
  MacQuery,
  MacView,
  ReachListener,
  ReportedStatus,
  SendOutcome,
  StatusKeeper,
  Switchboard,
} from './switchboard.ts';

/** The interval between renewals of a lease. Each tick renews one shard, which spreads the load of many Macs. */
const RENEW_MS = 3000;
/** A connection whose lease was not confirmed for this long is disconnected, before the lease can expire in Redis. */
const FENCE_MS = LEASE_TTL_MS - 2000;
const FENCE_CHECK_TICKS = 10;
/** After Redis lost its leases, every node restores its own within one round of renewals. Until then, a lease proves nothing. */
const PROOF_MS = RENEW_MS + 500;
/** Most nodes restore their leases within this time, as soon as they receive the notice or reconnect. Until then nothing is written. */
const RESTORE_MS = 1200;
/** The owner rejects a request that arrives later than this, so that no frame is written after the requesting node timed out. */
const NOT_AFTER_MS = 1200;
const RETRY_PAUSE_MS = 50;
/** Ticks this far apart mean that the process was stalled. */
const STALL_MS = 500;
const UNAVAILABLE = 'Redis is unavailable: the owner of the location is unknown';
const OWNER_LATE = 'the node of the Mac read the request too late';
const LEASES_LOST = 'Redis lost its leases: the owner of the location is not certain yet';

export interface RedisSwitchboardDeps {
  readonly redis: Redis;
  readonly nodeSecret: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly ledger: SendLedger;
  /** Called with the number of unconfirmed frames that were copied to the other nodes. */
  readonly onCopied?: (frames: number) => void;
  readonly node?: string;
  readonly contention?: Contention;
}

/** A lease that a connection of this node holds. */
interface HeldLease {
  readonly lease: Lease;
  readonly connection: MacConnection;
  readonly since: number;
  readonly shard: number;
  /** When the last successful request that confirmed the lease was sent, in monotonic time. */
  confirmedAt: number;
  /** After Redis lost the lease: the monotonic times from which it proves ownership, and from which frames may be written. */
  provenAt: number;
  usableAt: number;
}

/** Several nodes on one Redis: leases with growing epochs, and a write request to the node that holds the socket. */
export async function createRedisSwitchboard(deps: RedisSwitchboardDeps): Promise<Switchboard> {
  const switchboard = new RedisSwitchboard(deps);
  await switchboard.open();
  return switchboard;
}

class RedisSwitchboard implements Switchboard, BusHandler {
  readonly frames: HandOver;
  readonly #redis: Redis;
  readonly #leases: RedisLeases;
  readonly #bus: NodeBus;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #copies: FrameCopies;
  readonly #node: string;
  readonly #held = new Map<LocationId, HeldLease>();
  readonly #shards: readonly Set<HeldLease>[] = Array.from({ length: SHARDS }, () => new Set<HeldLease>());
  /** Sessions whose bind is in flight, with the reason of a disconnect that arrived before its response. */
  readonly #binding = new Map<string, DisconnectReason | undefined>();
  /** The results of write requests by id. Two rounds of renewals last longer than any request stays valid. */
  #handled = new Map<string, Promise<WriteResult>>();
  #handledBefore = new Map<string, Promise<WriteResult>>();
  readonly #formerOwners: FormerOwners;
  #statuses: StatusKeeper | undefined;
  #replies: ReachListener | undefined;
  #tick = 0;
  #tickedAt: number;
  #stalledAt = -Infinity;
  #restoringUntil = 0;
  /** The monotonic time from which a missing lease proves that no Mac is connected. */
  #completeFrom = 0;
  #stopTicking: () => void = () => {};
  #closed = false;

  constructor(deps: RedisSwitchboardDeps) {
    const { redis, nodeSecret, clock, log, ledger, onCopied = () => {} } = deps;
    const { node = randomUUID(), contention = CONTENTION } = deps;
    this.#redis = redis;
    this.#clock = clock;
    this.#log = log;
    this.#node = node;
    this.#tickedAt = clock.monotonic();
    const onLoss = (ageMs: number) => this.#onLoss(ageMs);
    this.#leases = new RedisLeases({ redis, node, clock, contention, onLoss });
    const bus = new NodeBus({ redis, nodeSecret, node, clock, log, handler: this });
    this.#bus = bus;
    const holderOf = (locationId: LocationId) => this.#held.get(locationId);
    this.#copies = new FrameCopies({ bus, ledger, clock, log, onCopied });
    const copies = this.#copies;
    this.frames = new HandOver({ bus, leases: this.#leases, ledger, copies, node, log, holderOf });
    this.#formerOwners = new FormerOwners({ bus, clock, node });
  }

  async open(): Promise<void> {
    await this.#leases.observe();
    await this.#bus.open();
    this.#redis.onReconnect(() => {
      // Another server may have taken over, without the latest leases.
      this.#doubtLeases();
      this.#renewAll();
    });
    this.#stopTicking = every(this.#clock, RENEW_MS / SHARDS, () => this.#onTick());
  }

  async bind(locationId: LocationId, connection: MacConnection): Promise<BindOutcome> {
    this.#assertOpen();
    const { sessionId, deviceId } = connection;
    const sentAt = this.#clock.monotonic();
    this.#binding.set(sessionId, undefined);
    try {
      const result = await this.#leases.bind(locationId, { sessionId, deviceId });
      if (result.kind === 'contended')
        return { kind: 'contended', waitSec: contendedWaitSec(result.rejections) };
      this.#assertOpen();
      const { epoch, previous, unconfirmedAt, formerNode } = result;
      const lease: Lease = { locationId, deviceId, sessionId, epoch };
      const displaced = previous !== undefined && previous.deviceId !== deviceId;
      if (previous !== undefined)
        this.#disconnectHolder(locationId, previous, displaced ? 'displaced' : 'resumed');
      this.#formerOwners.askFormerOwner(lease, formerNode);
      this.#hold(lease, connection, sentAt, previous?.deviceId);
      // The former node knows what the device has confirmed. When it was killed, the others have copies.
      const keepers = new Set([unconfirmedAt, formerNode]);
      const nodes = [...keepers].flatMap((node) => (node === undefined || node === this.#node ? [] : [node]));
      // The location was not bound for a while, or Redis lost its data and with it the name of the node that keeps frames.
      if (formerNode === undefined && unconfirmedAt === undefined) nodes.push('all');
      if (nodes.length === 0 && !this.#copies.has(lease)) return { kind: 'bound', lease, displaced };
      return { kind: 'bound', lease, displaced, unconfirmed: this.frames.collect(lease, nodes) };
    } catch (error) {
      // Redis may have stored the lease nevertheless, and other nodes would send requests for this Mac here.
      void this.#releaseInRedis(locationId, sessionId);
      throw error;
    } finally {
      this.#binding.delete(sessionId);
    }
  }

  async send(locationId: LocationId, frame: RoutedFrame): Promise<SendOutcome> {
    this.#assertOpen();
    const deadline = this.#clock.monotonic() + SEND_TIMEOUT_MS;
    let before: StoredLease | undefined;
    const isOver = (pauseMs: number) => this.#clock.monotonic() + pauseMs > deadline;
    for (let pauseMs = RETRY_PAUSE_MS; ; pauseMs *= 2) {
      const owner = await this.#ownerOf(locationId);
      if (owner === 'unknown') {
        if (await this.#redis.isDown()) return this.#sendWithoutRedis(locationId, frame);
        // This node may be partitioned, and another Mac may own the location by now.
        if (isOver(pauseMs + REDIS_TIMEOUT_MS)) throw new OwnerUnknownError('redis', UNAVAILABLE);
        await this.#clock.sleep(pauseMs);
        continue;
      }
      if (await this.#restore(locationId, owner)) {
        if (isOver(pauseMs)) throw new OwnerUnknownError('redis', LEASES_LOST);
        continue;
      }
      const isHere = owner?.node === this.#node;
      if (
        owner === undefined ||
        (isHere && this.#held.get(locationId)?.lease.sessionId !== owner.sessionId)
      ) {
        if (this.#isComplete()) return 'not_connected';
        if (isOver(RETRY_PAUSE_MS)) throw new OwnerUnknownError('redis', LEASES_LOST);
        await this.#clock.sleep(RETRY_PAUSE_MS);
        pauseMs = RETRY_PAUSE_MS;
        continue;
      }
      this.#dropIfStale(locationId, owner);
      const result = isHere
        ? this.#writeLocally(locationId, owner.epoch, frame)
        : await this.#writeRemotely(owner, locationId, frame);
      if (result === 'written') return 'written';
      if (result === 'overloaded') return 'not_connected';
      if (result === 'resuming') {
        const leftMs = deadline - this.#clock.monotonic();
        if (leftMs <= 0) return 'not_connected';
        await this.#untilReady(locationId, leftMs);
        continue;
      }
      if (result === 'unproven') {
        if (isOver(RETRY_PAUSE_MS)) throw new OwnerUnknownError('redis', LEASES_LOST);
        await this.#clock.sleep(RETRY_PAUSE_MS);
        pauseMs = RETRY_PAUSE_MS;
        continue;
      }
      if (result === 'late') {
        if (isOver(pauseMs)) throw new OwnerUnknownError('switchboard', OWNER_LATE);
        await this.#clock.sleep(pauseMs);
        continue;
      }
      // The frame was certainly not written. The Mac may be reconnecting to another node, or its node to Redis.
      const isOrphan = result === 'stale' && before?.sessionId === owner.sessionId;
      if (this.#isComplete() && (isOrphan || isOver(pauseMs))) return 'not_connected';
      if (isOver(pauseMs)) throw new OwnerUnknownError('redis', LEASES_LOST);
      before = owner;
      await this.#clock.sleep(pauseMs);
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
        await this.#clock.sleep(unprovenMs);
        continue;
      }
      const owner = await this.#freshOwner(lease.locationId);
      if (owner?.epoch === lease.epoch) return this.isCurrent(lease);
      if (owner !== undefined) this.#dropIfStale(lease.locationId, owner);
      await this.#restore(lease.locationId, owner);
    }
  }

  callsEnded({ locationId }: { readonly locationId: string }): Promise<number> {
    return this.#formerOwners.callsEnded(locationId);
  }

  mayLackStatuses({ locationId }: { readonly locationId: string }): boolean {
    return this.#formerOwners.unrecordedMs(locationId) > 0;
  }

  async statusElsewhere(messageId: string, lease: Lease): Promise<ReportedStatus | undefined> {
    const { locationId } = lease;
    await this.#formerOwners.endRejections(messageId, lease);
    if (!this.#formerOwners.hasFormerOwner(locationId)) return undefined;
    const { newest } = await this.#statusOf({ locationId, messageId });
    return newest;
  }

  async isUnderWayElsewhere(locationId: string, messageId: string): Promise<boolean | 'unknown'> {
    const { newest, isComplete } = await this.#statusOf({ locationId, messageId, isRejected: true });
    if (newest?.isUnderWay === true) return true;
    return isComplete ? false : 'unknown';
  }

  keepStatuses(keeper: StatusKeeper): void {
    this.#statuses = keeper;
  }

  reply(frame: ReachResultFrame): void {
    if (this.#replies?.(frame) !== true) this.#bus.replied(frame);
  }

  onReply(listener: ReachListener): void {
    this.#replies = listener;
  }

  async release(lease: Lease): Promise<void> {
    const held = this.#held.get(lease.locationId);
    if (held?.lease.epoch === lease.epoch) this.#remove(held);
    await this.#releaseInRedis(lease.locationId, lease.sessionId, this.frames.keeperOf(lease));
  }

  async disconnect(locationId: LocationId, reason: 'closed' | 'moved'): Promise<void> {
    const holder = await this.#leases.release(locationId);
    if (holder !== undefined) this.#disconnectHolder(locationId, holder, reason);
  }

  async boundMacs(query: Pick<MacQuery, 'deviceId'> = {}): Promise<BoundMac[]> {
    return [...newestPerLocation(await this.#bus.boundMacs(query)).values()];
  }

  async viewMacs(): Promise<MacView> {
    return newestPerLocation(await this.#bus.boundMacs({ withStates: true }));
  }

  ping(): Promise<void> {
    return this.#redis.ping();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopTicking();
    const all = [...this.#held.values()];
    for (const held of all) this.#remove(held);
    await Promise.all(all.map(({ lease }) => this.#releaseInRedis(lease.locationId, lease.sessionId)));
    for (const { connection } of all) connection.disconnect('fenced');
    await this.frames.leave();
  }

  /**
   * Returns the same result for a request that arrives twice: the sender uses the first reply, and `stale` for the duplicate would make it
   * write the frame again. A client that can publish to Redis could replay a sealed request before its deadline.
   */
  onWrite(request: WriteRequest): Promise<WriteResult> {
    const { id } = request;
    const known = this.#handled.get(id) ?? this.#handledBefore.get(id);
    if (known !== undefined) return known;
    const result = this.#write(request);
    this.#handled.set(id, result);
    return result;
  }

  async #write({ locationId: given, epoch, notAfter, frame }: WriteRequest): Promise<WriteResult> {
    // The requesting node has parsed the id.
    const locationId = given as LocationId;
    // Redis's clock may have been set, and only one of the two nodes knows it.
    if (notAfter < this.#leases.time.latest()) await this.#leases.observe().catch(() => {});
    if (notAfter < this.#leases.time.latest()) return 'late';
    for (;;) {
      const leftMs = notAfter - this.#leases.time.latest();
      if (leftMs < 0) return 'stale';
      const result = this.#writeLocally(locationId, epoch, frame);
      if (result !== 'resuming') return result;
      await this.#untilReady(locationId, leftMs);
    }
  }

  onDisconnect({ locationId, sessionId, reason, hasMoved = false }: DisconnectNotice): void {
    this.#disconnectSession(locationId as LocationId, sessionId, hasMoved ? 'moved' : reason);
  }

  onTakeOver({ locationId, deviceId, epoch }: TakeOverRequest): HandedFrame[] {
    const held = this.#held.get(locationId as LocationId);
    // The notice that disconnects it may be lost.
    if (held !== undefined && held.lease.epoch < epoch) this.#drop(held, reasonFor(deviceId, held.lease));
    // The node that asks has lost the device to this one, and has not noticed yet.
    if (held !== undefined && held.lease.epoch > epoch && held.lease.deviceId === deviceId) return [];
    return this.frames.framesOf({ locationId, deviceId });
  }

  async onEndCalls({ locationId, epoch, messageId }: EndCallsRequest): Promise<EndedCalls> {
    if (messageId !== undefined) {
      await this.#statuses?.endRejections(locationId, messageId);
      return { unsettledMs: 0, unrecordedMs: 0 };
    }
    const held = this.#held.get(locationId as LocationId);
    // The Mac is back here: the node that asks has lost the location.
    if (held !== undefined && held.lease.epoch > epoch)
      return { unsettledMs: SETTLE_TIMEOUT_MS, unrecordedMs: 0 };
    const lateMs = (await this.#statuses?.endCalls(locationId)) ?? 0;
    const unsettledMs = Math.max(lateMs, await this.callsEnded({ locationId }));
    return { unsettledMs, unrecordedMs: this.#formerOwners.unrecordedMs(locationId) };
  }

  async onStatusQuestion(question: StatusQuestion): Promise<ReportedStatus | undefined> {
    const { from, locationId, messageId, isRejected = false } = question;
    if (isRejected) this.#formerOwners.noteRejection(from, locationId, messageId);
    return this.#statuses?.statusOf(locationId, messageId);
  }

  onMacReply(frame: ReachResultFrame): void {
    this.#replies?.(frame);
  }

  isStaying(): boolean {
    return !this.#closed;
  }

  #statusOf(question: Parameters<NodeBus['statusOf']>[0]): ReturnType<NodeBus['statusOf']> {
    return this.#bus.statusOf(question).catch(() => ({ newest: undefined, isComplete: false }));
  }

  onLeasesLost(): void {
    this.#doubtLeases();
    this.#restoreAll();
  }

  #onLoss(ageMs: number): void {
    this.#doubtLeases(ageMs);
    if (ageMs === 0 && this.#restoreAll()) this.#bus.leasesLost();
  }

  /** Until every node has restored its leases, a missing one proves nothing. */
  #doubtLeases(lostMsAgo = 0): void {
    this.#completeFrom = Math.max(this.#completeFrom, this.#clock.monotonic() + PROOF_MS - lostMsAgo);
  }

  #isComplete(): boolean {
    return this.#clock.monotonic() >= this.#completeFrom;
  }

  localMacs(query: MacQuery): BoundMac[] {
    return boundMacsOf(this.#held.values(), this.#node, query);
  }

  /** While Redis is down for all nodes, no location changes its owner: a connection with an unexpired lease may still be used. */
  #sendWithoutRedis(locationId: LocationId, frame: RoutedFrame): SendOutcome {
    const held = this.#held.get(locationId);
    const result = held === undefined ? 'stale' : this.#writeLocally(locationId, held.lease.epoch, frame);
    if (result === 'written') return 'written';
    if (result === 'overloaded') return 'not_connected';
    throw new OwnerUnknownError('redis', UNAVAILABLE);
  }

  /** Returns `resuming` when the connection is not ready. */
  #writeLocally(locationId: LocationId, epoch: number, frame: RoutedFrame): WriteResult | 'resuming' {
    const held = this.#held.get(locationId);
    if (held === undefined || held.lease.epoch !== epoch || !this.#isUnexpired(held)) return 'stale';
    if (this.#clock.monotonic() < held.usableAt) return 'unproven';
    if (held.connection.ready !== undefined) return 'resuming';
    const result = held.connection.write(frame, epoch);
    if (result === 'written') this.#copies.written(held.lease);
    return result;
  }

  async #untilReady(locationId: LocationId, ms: number): Promise<void> {
    const held = this.#held.get(locationId);
    if (held !== undefined) await untilReady(held.connection, this.#clock, ms);
  }

  async #writeRemotely({ node, epoch }: StoredLease, locationId: LocationId, frame: RoutedFrame) {
    const notAfter = this.#leases.time.earliest() + NOT_AFTER_MS;
    const request = { locationId, epoch, notAfter, frame };
    const reply = await this.#bus.write(node, request, SEND_TIMEOUT_MS).catch((error: unknown) => {
      throw new UncertainSendError('redis', 'the request to the node of the Mac may be lost', error);
    });
    if (reply !== 'timeout') return reply;
    throw new UncertainSendError(
      'switchboard',
      'the node of the Mac did not respond: it is unknown whether the frame was written',
    );
  }

  /** `lostTo`: the device that owned the location until now. This node may still hold a connection that lost it to that device. */
  #hold(lease: Lease, connection: MacConnection, confirmedAt: number, lostTo = lease.deviceId): void {
    const early = this.#binding.get(lease.sessionId);
    if (early !== undefined) return connection.disconnect(early);
    const previous = this.#held.get(lease.locationId);
    if (previous !== undefined && previous.lease.epoch > lease.epoch)
      return connection.disconnect(reasonFor(previous.lease.deviceId, lease));
    if (previous !== undefined) this.#drop(previous, reasonFor(lostTo, previous.lease));
    const shard = shardOf(lease.locationId);
    const held = {
      lease,
      connection,
      shard,
      since: this.#clock.now(),
      confirmedAt,
      provenAt: 0,
      usableAt: 0,
    };
    this.#held.set(lease.locationId, held);
    this.#shards[shard]?.add(held);
  }

  #remove(held: HeldLease): void {
    this.#held.delete(held.lease.locationId);
    this.#shards[held.shard]?.delete(held);
  }

  #drop(held: HeldLease, reason: DisconnectReason): void {
    this.#remove(held);
    held.connection.disconnect(reason);
  }

  #disconnectHolder(
    locationId: LocationId,
    { node, sessionId }: Pick<LeaseHolder, 'node' | 'sessionId'>,
    reason: DisconnectReason,
  ): void {
    if (node === this.#node) this.#disconnectSession(locationId, sessionId, reason);
    // A node of an earlier version does not know `moved`.
    else if (reason === 'moved')
      this.#bus.disconnect(node, { locationId, sessionId, reason: 'closed', hasMoved: true });
    else this.#bus.disconnect(node, { locationId, sessionId, reason });
  }

  #disconnectSession(locationId: LocationId, sessionId: string, reason: DisconnectReason): void {
    const held = this.#held.get(locationId);
    if (held?.lease.sessionId === sessionId) this.#drop(held, reason);
    else if (this.#binding.has(sessionId)) this.#binding.set(sessionId, reason);
  }

  /** Drops the connection of this node when Redis knows a newer owner, whether the notice arrived or not. */
  #dropIfStale(locationId: LocationId, owner: StoredLease): void {
    const held = this.#held.get(locationId);
    if (held !== undefined && held.lease.epoch < owner.epoch)
      this.#drop(held, reasonFor(owner.deviceId, held.lease));
  }

  #onTick(): void {
    const now = this.#clock.monotonic();
    if (now - this.#tickedAt > STALL_MS) this.#stalledAt = now;
    this.#tickedAt = now;
    this.#copies.tick();
    const shard = this.#shards[this.#tick++ % SHARDS];
    if (shard !== undefined && shard.size > 0) void this.#renew([...shard]);
    if (this.#tick % FENCE_CHECK_TICKS === 0) this.#fenceExpired();
    if (this.#tick % SHARDS !== 0) return;
    // A node without leases sends nothing else.
    void this.#leases.observe().catch(() => {});
    this.frames.offer();
    this.#copies.expire();
    this.#handledBefore = this.#handled;
    this.#handled = new Map();
  }

  #renewAll(): void {
    for (const shard of this.#shards) if (shard.size > 0) void this.#renew([...shard]);
  }

  /** Never rejects: a lease that is not renewed in time is fenced. */
  async #renew(all: readonly HeldLease[]): Promise<void> {
    const sentAt = this.#clock.monotonic();
    try {
      const renewals = await this.#leases.renew(all.map(({ lease }) => lease));
      const restored = all.filter((held, index) => this.#applyRenewal(held, renewals[index], sentAt));
      if (restored.length > 0) this.#onLoss(0);
    } catch (error) {
      this.#log.debug(
        { event: 'switchboard.renewal_failed', err: error, leases: all.length },
        'leases not renewed',
      );
    }
  }

  /** Redis lost leases: renews all leases of this node at once. Returns false when this loss was handled before. */
  #restoreAll(): boolean {
    const now = this.#clock.monotonic();
    if (now < this.#restoringUntil) return false;
    this.#restoringUntil = now + RENEW_MS;
    if (this.#held.size > 0)
      this.#log.warn(
        { event: 'switchboard.leases_lost', leases: this.#held.size },
        'redis lost its leases; restoring them',
      );
    this.#renewAll();
    return true;
  }

  /** Returns whether Redis had lost the lease. */
  #applyRenewal(held: HeldLease, renewal: Renewal | undefined, sentAt: number): boolean {
    if (renewal === undefined || renewal.kind === 'late') return false;
    if (renewal.kind === 'lost') {
      if (this.#held.get(held.lease.locationId) === held)
        this.#drop(held, renewal.to === undefined ? 'closed' : reasonFor(renewal.to, held.lease));
      return false;
    }
    held.confirmedAt = Math.max(held.confirmedAt, sentAt);
    if (renewal.kind === 'kept') return false;
    const now = this.#clock.monotonic();
    held.provenAt = now + PROOF_MS;
    held.usableAt = now + RESTORE_MS;
    return true;
  }

  /**
   * Restores the lease of this node when Redis has no lease for the location, or an older lease. Resolves with false if this node has no
   * lease. Another node may have restored a newer lease first, so the caller must read the owner again.
   */
  async #restore(locationId: LocationId, owner: StoredLease | undefined): Promise<boolean> {
    const held = this.#held.get(locationId);
    if (held === undefined || !this.#isUnexpired(held) || held.lease.epoch <= (owner?.epoch ?? 0))
      return false;
    await this.#renew([held]);
    return true;
  }

  #fenceExpired(): void {
    for (const held of this.#held.values()) if (!this.#isUnexpired(held)) this.#drop(held, 'fenced');
  }

  #current(lease: Lease): HeldLease | undefined {
    const held = this.#held.get(lease.locationId);
    return held?.lease.epoch === lease.epoch && this.#isUnexpired(held) ? held : undefined;
  }

  #isUnexpired(held: HeldLease): boolean {
    return this.#clock.monotonic() - held.confirmedAt < FENCE_MS;
  }

  async #ownerOf(locationId: LocationId): Promise<StoredLease | undefined | 'unknown'> {
    try {
      return await this.#freshOwner(locationId);
    } catch {
      return 'unknown';
    }
  }

  /** Repeats the request when this process was stalled: a response that was produced before the stall is outdated. */
  async #freshOwner(locationId: LocationId): Promise<StoredLease | undefined> {
    for (;;) {
      const sentAt = this.#clock.monotonic();
      const owner = await this.#leases.owner(locationId);
      // Sockets may be read before the tick that detects the stall.
      const isStalled = this.#clock.monotonic() - this.#tickedAt > STALL_MS;
      if ((!isStalled && this.#stalledAt < sentAt) || this.#closed) return owner;
      await this.#clock.sleep(1);
    }
  }

  async #releaseInRedis(locationId: LocationId, sessionId: string, keeper?: LeaseKeeper): Promise<void> {
    try {
      await this.#leases.release(locationId, sessionId, keeper);
    } catch (error) {
      this.#log.debug(
        { event: 'switchboard.release_failed', err: error },
        'lease not released; it will expire',
      );
    }
  }

  #assertOpen(): void {
    if (this.#closed) throw new EngineError('switchboard', 'the switchboard is closed');
  }
}

/** Why a connection lost its location to a device: the device itself reconnected, or another one bound the location. */
const reasonFor = (deviceId: string, lost: Lease): DisconnectReason =>
  deviceId === lost.deviceId ? 'resumed' : 'displaced';

function newestPerLocation(all: readonly BoundMac[]): ReadonlyMap<string, BoundMac> {
  const newest = new Map<string, BoundMac>();
  for (const mac of all)
    if ((newest.get(mac.locationId)?.epoch ?? 0) < mac.epoch) newest.set(mac.locationId, mac);
  return newest;
}
