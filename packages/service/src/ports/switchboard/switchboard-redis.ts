import { createHash, randomUUID } from 'node:crypto';

import type { LocationId } from '@footbridge/protocol/ids';

import { every } from '../../clock.ts';
import type { Clock } from '../../clock.ts';
import { EngineError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { loadScript } from '../../redis/open-redis.ts';
import type { Redis } from '../../redis/open-redis.ts';
import { createBusCipher } from './bus.ts';
import type { AskOutcome, BusCipher, BusMessage } from './bus.ts';
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

const script = (name: string) => loadScript(new URL(`scripts/${name}.lua`, import.meta.url));
const BIND = script('bind');
const RENEW = script('renew');
const RELEASE = script('release');
const OWNER = script('owner');

/** How leases are kept. A node lets go `TTL - FENCE` after the last renewal it knows of, before anybody else can take the location. */
const TTL_MS = 10_000;
const FENCE_MS = 2000;
const RENEW_MS = 3000;
const ANSWER_MS = 1500;
/** The owner refuses what reaches it later than this, so that nothing is written after the asker has given up. */
const NOT_AFTER_MS = 1200;
const WHO_MS = 1000;
const EARLY_CUTS_KEPT = 1000;

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
  /** Monotonic time at which Redis was last asked with success. */
  confirmedAt: number;
}

interface Owner {
  readonly node: string;
  readonly sessionId: string;
  readonly deviceId: string;
  readonly epoch: number;
}

/** Several nodes over one Redis: leases with growing epochs, and a question with an answer to the node that holds the socket. */
export async function createRedisSwitchboard(options: RedisSwitchboardOptions): Promise<Switchboard> {
  const switchboard = new RedisSwitchboard(options);
  await switchboard.open();
  return switchboard;
}

class RedisSwitchboard implements Switchboard {
  readonly #redis: Redis;
  readonly #cipher: BusCipher;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #node: string;
  readonly #contention: Contention;
  readonly #held = new Map<LocationId, Held>();
  readonly #asked = new Map<string, (outcome: AskOutcome) => void>();
  readonly #whoAsked = new Map<string, (occupants: Occupant[]) => void>();
  /** Cuts that overtook the answer to the bind they belong to. */
  readonly #earlyCuts = new Map<string, CutReason>();
  readonly #seenAsks = new Map<string, number>();
  /** Redis's clock minus our monotonic one: deadlines between nodes need no agreement of their clocks. */
  #redisOffset = 0;
  #stopRenewing: () => void = () => {};
  #forged = 0;
  #closed = false;

  constructor({
    redis,
    nodeSecret,
    clock,
    log,
    node = randomUUID(),
    contention = CONTENTION,
  }: RedisSwitchboardOptions) {
    this.#redis = redis;
    this.#cipher = createBusCipher(nodeSecret);
    this.#clock = clock;
    this.#log = log;
    this.#node = node;
    this.#contention = contention;
  }

  async open(): Promise<void> {
    const hear = (sealed: Buffer) => this.#hear(sealed);
    await this.#redis.subscribe(channelOf(this.#node), hear);
    await this.#redis.subscribe(EVERYBODY, hear);
    this.#stopRenewing = every(this.#clock, RENEW_MS, () => void this.#renewAll());
  }

  async bind(locationId: LocationId, line: Line): Promise<BindOutcome> {
    this.#refuseWhenClosed();
    const askedAt = this.#clock.monotonic();
    const { windowMs, displacements } = this.#contention;
    const { sessionId, deviceId } = line;
    const answer = await this.#redis.run(
      BIND,
      [
        keyOf(locationId, 'lease'),
        keyOf(locationId, 'epoch'),
        keyOf(locationId, 'fights'),
        keyOf(locationId, 'refusals'),
      ],
      [this.#node, sessionId, deviceId, TTL_MS, windowMs, displacements],
    );
    const [kind, number, millis, formerNode = '', formerSession = '', formerDevice = ''] = answer as string[];
    if (kind === 'contended') return { kind: 'contended', waitSec: contendedWaitSec(Number(number)) };
    this.#setClock(millis);
    const lease: Lease = { locationId, deviceId, sessionId, epoch: Number(number) };
    const displaced = formerDevice !== '' && formerDevice !== deviceId;
    if (formerSession !== '')
      this.#tellFormer(locationId, formerNode, formerSession, displaced ? 'displaced' : 'resumed');
    this.#hold({ lease, line, since: this.#clock.now(), confirmedAt: askedAt });
    return { kind: 'bound', lease, displaced };
  }

  async send(locationId: LocationId, frame: LineFrame): Promise<SendOutcome> {
    this.#refuseWhenClosed();
    const owner = await this.#ownerOf(locationId);
    if (owner === 'unknown') return this.#sendAlone(locationId, frame);
    if (owner === undefined)
      return (await this.#restore(locationId)) ? this.#writeLocally(locationId, frame) : 'not_connected';
    if (owner.node === this.#node)
      return this.#held.get(locationId)?.lease.sessionId === owner.sessionId
        ? this.#writeLocally(locationId, frame)
        : 'not_connected';
    this.#dropStale(locationId, owner);
    const outcome = await this.#ask(owner, locationId, frame);
    if (outcome !== undefined)
      return outcome === 'written' ? 'written' : this.#askAgain(owner, outcome, locationId, frame);
    return this.#askAgain(owner, 'stale', locationId, frame);
  }

  isCurrent(lease: Lease): boolean {
    const held = this.#held.get(lease.locationId);
    return held !== undefined && held.lease.epoch === lease.epoch && this.#isAlive(held);
  }

  async confirm(lease: Lease): Promise<boolean> {
    if (!this.isCurrent(lease)) return false;
    const owner = await this.#ownerOf(lease.locationId);
    if (owner === 'unknown') return this.isCurrent(lease);
    if (owner === undefined) return this.#restore(lease.locationId);
    if (owner.epoch === lease.epoch) return this.isCurrent(lease);
    this.#dropStale(lease.locationId, owner);
    return false;
  }

  async release(lease: Lease): Promise<void> {
    if (this.#held.get(lease.locationId)?.lease.epoch === lease.epoch) this.#held.delete(lease.locationId);
    await this.#redis
      .run(RELEASE, [keyOf(lease.locationId, 'lease'), keyOf(lease.locationId, 'epoch')], [lease.sessionId])
      .catch((error: unknown) =>
        this.#log.warn({ err: error }, 'a lease could not be given back; it ends by itself'),
      );
  }

  async disconnect(locationId: LocationId): Promise<void> {
    const answer = await this.#redis.run(
      RELEASE,
      [keyOf(locationId, 'lease'), keyOf(locationId, 'epoch')],
      [''],
    );
    const [node, sessionId] = answer as string[];
    if (node !== undefined && sessionId !== undefined)
      this.#tellFormer(locationId, node, sessionId, 'closed');
  }

  async occupants(): Promise<Occupant[]> {
    const id = randomUUID();
    const all: Occupant[] = [];
    let answers = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    let expected = Infinity;
    this.#whoAsked.set(id, (occupants) => {
      for (const occupant of occupants) all.push(occupant);
      if (++answers >= expected) resolve();
    });
    const cancel = this.#clock.after(WHO_MS, resolve);
    try {
      expected = await this.#redis.publish(
        EVERYBODY,
        this.#cipher.seal({ type: 'who', id, from: this.#node }),
      );
      if (answers < expected) await promise;
    } finally {
      cancel();
      this.#whoAsked.delete(id);
    }
    return newestPerLocation(all);
  }

  ping(): Promise<void> {
    return this.#redis.ping();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopRenewing();
    const held = [...this.#held.values()];
    this.#held.clear();
    await Promise.all(held.map(({ lease }) => this.release(lease)));
    for (const { line } of held) line.cut('fenced');
  }

  /** Nothing is known of the lease while Redis is away: a line that is still within its time may be used, anything else is our failure. */
  #sendAlone(locationId: LocationId, frame: LineFrame): SendOutcome {
    const held = this.#held.get(locationId);
    if (held === undefined || !this.#isAlive(held))
      throw new EngineError('redis', 'Redis is away: the owner of the location is not known');
    return this.#writeLocally(locationId, frame);
  }

  #writeLocally(locationId: LocationId, frame: LineFrame): SendOutcome {
    const held = this.#held.get(locationId);
    if (held === undefined || !this.#isAlive(held)) return 'not_connected';
    return held.line.write(frame, held.lease.epoch) === 'written' ? 'written' : 'not_connected';
  }

  /** One more try when the owner changed in the meantime; otherwise nobody is there. */
  async #askAgain(
    before: Owner,
    outcome: AskOutcome,
    locationId: LocationId,
    frame: LineFrame,
  ): Promise<SendOutcome> {
    if (outcome === 'overloaded') return 'not_connected';
    const owner = await this.#ownerOf(locationId);
    if (owner === undefined || owner === 'unknown' || owner.sessionId === before.sessionId)
      return 'not_connected';
    if (owner.node === this.#node) return this.#writeLocally(locationId, frame);
    return (await this.#ask(owner, locationId, frame)) === 'written' ? 'written' : 'not_connected';
  }

  async #ask(owner: Owner, locationId: LocationId, frame: LineFrame): Promise<AskOutcome | undefined> {
    const id = randomUUID();
    const { promise, resolve } = Promise.withResolvers<AskOutcome | undefined>();
    this.#asked.set(id, resolve);
    const cancel = this.#clock.after(ANSWER_MS, () => resolve(undefined));
    const notAfter = this.#redisNow() + NOT_AFTER_MS;
    try {
      await this.#tell(owner.node, {
        type: 'ask',
        id,
        from: this.#node,
        locationId,
        epoch: owner.epoch,
        notAfter,
        frame,
      });
      return await promise;
    } finally {
      cancel();
      this.#asked.delete(id);
    }
  }

  #hear(sealed: Buffer): void {
    const message = this.#cipher.open(sealed);
    if (message === undefined) {
      if (this.#forged++ % 1000 === 0)
        this.#log.warn({ count: this.#forged }, 'a bus message that no node of ours sent was ignored');
      return;
    }
    switch (message.type) {
      case 'ask':
        return this.#answer(message);
      case 'answer':
        return this.#asked.get(message.id)?.(message.outcome);
      case 'cut':
        return this.#cutSession(message.locationId as LocationId, message.sessionId, message.reason);
      case 'who': {
        const occupants = Array.from(this.#held.values(), ({ lease, since }) => ({
          ...lease,
          since,
          node: this.#node,
        }));
        return this.#tellAndForget(message.from, { type: 'here', id: message.id, occupants });
      }
      case 'here':
        return this.#whoAsked.get(message.id)?.(message.occupants);
    }
  }

  #answer({ id, from, locationId, epoch, notAfter, frame }: Extract<BusMessage, { type: 'ask' }>): void {
    this.#tellAndForget(from, {
      type: 'answer',
      id,
      outcome: this.#take(id, locationId as LocationId, epoch, notAfter, frame),
    });
  }

  #take(id: string, locationId: LocationId, epoch: number, notAfter: number, frame: LineFrame): AskOutcome {
    const now = this.#redisNow();
    if (now > notAfter || this.#isRepeated(id, now)) return 'stale';
    const held = this.#held.get(locationId);
    if (held === undefined || held.lease.epoch !== epoch || !this.#isAlive(held)) return 'stale';
    return held.line.write(frame, epoch);
  }

  /** Whoever can publish could play a sealed question again while it is still young. */
  #isRepeated(id: string, now: number): boolean {
    if (this.#seenAsks.has(id)) return true;
    for (const [old, until] of this.#seenAsks) {
      if (until > now) break;
      this.#seenAsks.delete(old);
    }
    this.#seenAsks.set(id, now + 2 * NOT_AFTER_MS);
    return false;
  }

  #hold(next: Held): void {
    const { locationId, sessionId, epoch } = next.lease;
    const early = this.#earlyCuts.get(sessionId);
    this.#earlyCuts.delete(sessionId);
    const former = this.#held.get(locationId);
    if (early !== undefined) return next.line.cut(early);
    if (former !== undefined && former.lease.epoch > epoch)
      return next.line.cut(former.lease.deviceId === next.lease.deviceId ? 'resumed' : 'displaced');
    this.#held.set(locationId, next);
    former?.line.cut(former.lease.deviceId === next.lease.deviceId ? 'resumed' : 'displaced');
  }

  #tellFormer(locationId: LocationId, node: string, sessionId: string, reason: CutReason): void {
    if (node === this.#node) return this.#cutSession(locationId, sessionId, reason);
    this.#tellAndForget(node, { type: 'cut', locationId, sessionId, reason });
  }

  #cutSession(locationId: LocationId, sessionId: string, reason: CutReason): void {
    const held = this.#held.get(locationId);
    if (held?.lease.sessionId === sessionId) {
      this.#held.delete(locationId);
      return held.line.cut(reason);
    }
    this.#earlyCuts.set(sessionId, reason);
    if (this.#earlyCuts.size > EARLY_CUTS_KEPT)
      this.#earlyCuts.delete(this.#earlyCuts.keys().next().value ?? '');
  }

  /** A newer owner is known: our line for this location is history, whether the notice arrived or not. */
  #dropStale(locationId: LocationId, owner: Owner): void {
    const held = this.#held.get(locationId);
    if (held === undefined || held.lease.epoch >= owner.epoch) return;
    this.#held.delete(locationId);
    held.line.cut(owner.deviceId === held.lease.deviceId ? 'resumed' : 'displaced');
  }

  async #renewAll(): Promise<void> {
    await Promise.all(
      Array.from(this.#held.values(), (held) => this.#renew(held).catch(() => this.#fenceIfLate(held))),
    );
  }

  /** Redis forgot the lease of a line that is here: try to have it back. */
  async #restore(locationId: LocationId): Promise<boolean> {
    const held = this.#held.get(locationId);
    if (held === undefined || !this.#isAlive(held)) return false;
    await this.#renew(held);
    return this.#held.get(locationId) === held;
  }

  async #renew(held: Held): Promise<void> {
    const { locationId, sessionId, deviceId, epoch } = held.lease;
    const askedAt = this.#clock.monotonic();
    const answer = await this.#redis.run(
      RENEW,
      [keyOf(locationId, 'lease'), keyOf(locationId, 'epoch')],
      [this.#node, sessionId, deviceId, epoch, TTL_MS],
    );
    const [outcome, detail = ''] = answer as string[];
    if (outcome === 'kept') {
      held.confirmedAt = askedAt;
      this.#setClock(detail);
      return;
    }
    if (this.#held.get(locationId) !== held) return;
    this.#held.delete(locationId);
    held.line.cut(detail === '' ? 'closed' : detail === deviceId ? 'resumed' : 'displaced');
  }

  #fenceIfLate(held: Held): void {
    if (this.#isAlive(held) || this.#held.get(held.lease.locationId) !== held) return;
    this.#held.delete(held.lease.locationId);
    held.line.cut('fenced');
  }

  #isAlive(held: Held): boolean {
    return this.#clock.monotonic() - held.confirmedAt < TTL_MS - FENCE_MS;
  }

  async #ownerOf(locationId: LocationId): Promise<Owner | undefined | 'unknown'> {
    try {
      const answer = await this.#redis.run(OWNER, [keyOf(locationId, 'lease')], []);
      const [millis = '', node = '', sessionId = '', deviceId = '', epoch = ''] = answer as string[];
      this.#setClock(millis);
      return node === '' ? undefined : { node, sessionId, deviceId, epoch: Number(epoch) };
    } catch {
      return 'unknown';
    }
  }

  #setClock(millis: string | undefined): void {
    this.#redisOffset = Number(millis) - this.#clock.monotonic();
  }

  #redisNow(): number {
    return this.#redisOffset + this.#clock.monotonic();
  }

  async #tell(node: string, message: BusMessage): Promise<void> {
    await this.#redis.publish(channelOf(node), this.#cipher.seal(message));
  }

  #tellAndForget(node: string, message: BusMessage): void {
    this.#tell(node, message).catch((error: unknown) =>
      this.#log.debug({ err: error }, 'a notice to another node was lost'),
    );
  }

  #refuseWhenClosed(): void {
    if (this.#closed) throw new EngineError('switchboard', 'the switchboard is closed');
  }
}

const EVERYBODY = 'footbridge:nodes';
const channelOf = (node: string) => `footbridge:node:${node}`;

/** The hash in braces keeps all keys of a location in one slot of a cluster, and its id unreadable in Redis. */
const keyOf = (locationId: LocationId, what: string) =>
  `footbridge:{${createHash('sha256').update(locationId).digest('base64url').slice(0, 22)}}:${what}`;

function newestPerLocation(all: Occupant[]): Occupant[] {
  const newest = new Map<string, Occupant>();
  for (const occupant of all)
    if ((newest.get(occupant.locationId)?.epoch ?? 0) < occupant.epoch)
      newest.set(occupant.locationId, occupant);
  return [...newest.values()];
}
