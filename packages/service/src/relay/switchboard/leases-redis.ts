import { hash } from 'node:crypto';

import type { LocationId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';

import { EngineError } from '../../platform/errors.ts';
import { loadScript } from '../../platform/redis/open-redis.ts';
import type { Redis } from '../../platform/redis/open-redis.ts';
import { RedisTime } from './redis-time.ts';
import type { Contention, Lease } from './switchboard.ts';

const script = (name: string) => loadScript(new URL(`scripts/${name}.lua`, import.meta.url));
const BIND = script('bind');
const RENEW = script('renew');
const RELEASE = script('release');
const OWNER = script('owner');

/** A lease expires in Redis after this long without a renewal. */
export const LEASE_TTL_MS = 10_000;
/** A response of Redis is awaited this long; a script that starts later than that changes nothing. */
export const REDIS_TIMEOUT_MS = 1000;
/** No lease that is renewed in time expires when Redis's clock is set forward by less. */
const MAX_STEP_MS = 5000;

/** The connection that holds a lease, and its node. */
export interface LeaseHolder {
  readonly node: string;
  readonly sessionId: string;
  readonly deviceId: string;
}

/** A lease as stored in Redis. */
export interface StoredLease extends LeaseHolder {
  readonly epoch: number;
}

/** The node that keeps frames which a device has not confirmed. */
export interface LeaseKeeper {
  readonly node: string;
  readonly deviceId: string;
  readonly forMs: number;
}

export type BindResult =
  | {
      readonly kind: 'bound';
      readonly epoch: number;
      readonly previous: LeaseHolder | undefined;
      /** The node that kept frames which the device has not confirmed. */
      readonly unconfirmedAt: string | undefined;
      /** The node that bound the location last, also when it has released it since. */
      readonly formerNode: string | undefined;
    }
  | { readonly kind: 'contended'; readonly rejections: number };

/**
 * - `kept`: renewed.
 * - `restored`: Redis had lost the lease, and it is stored again.
 * - `lost`: the device `to` holds the location, or no device does.
 * - `late`: the script ran after its deadline and changed nothing.
 */
export type Renewal =
  | { readonly kind: 'kept' | 'restored' | 'late' }
  | { readonly kind: 'lost'; readonly to: string | undefined };

export interface RedisLeasesDeps {
  readonly redis: Pick<Redis, 'run'>;
  readonly node: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly contention: Contention;
  /** Called when leases may be lost: Redis has had its data for only `ageMs`, or its clock was just set forward. */
  readonly onLoss: (ageMs: number) => void;
}

/** The leases in Redis, one script per atomic operation. Every method rejects with EngineError when Redis is unavailable. */
export class RedisLeases {
  readonly time: RedisTime;
  readonly #redis: Pick<Redis, 'run'>;
  readonly #node: string;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #contention: Contention;
  readonly #onLoss: (ageMs: number) => void;
  #highestEpoch = 0;

  constructor({ redis, node, clock, contention, onLoss }: RedisLeasesDeps) {
    this.#redis = redis;
    this.#node = node;
    this.#clock = clock;
    this.#contention = contention;
    this.#onLoss = onLoss;
    this.time = new RedisTime(() => clock.monotonic());
  }

  /** Reads Redis's time, which deadlines depend on, and since when it has its data. */
  async observe(): Promise<void> {
    await this.#owner('A');
  }

  async bind(locationId: LocationId, holder: Omit<LeaseHolder, 'node'>): Promise<BindResult> {
    const result = await this.#bindOnce(locationId, holder);
    // When Redis's clock was set forward, the first attempt is late; it also yields the new time, so the second is not.
    const retried = result ?? (await this.#bindOnce(locationId, holder));
    if (retried === undefined) throw new EngineError('redis', 'Redis ran the script after its deadline');
    return retried;
  }

  async #bindOnce(
    locationId: LocationId,
    { sessionId, deviceId }: Omit<LeaseHolder, 'node'>,
  ): Promise<BindResult | undefined> {
    const { windowMs, displacements } = this.#contention;
    const fields = ['lease', 'epoch', 'displacements', 'rejections', unconfirmedField(deviceId), 'bound'];
    const keys = fields.map((field) => keyOf(nameOf(locationId), field));
    const response = await this.#run(BIND, keys, [
      this.#node,
      sessionId,
      deviceId,
      String(LEASE_TTL_MS),
      String(windowMs),
      String(displacements),
      this.#notAfter(),
      String(Math.max(this.#highestEpoch + 1, Math.floor(this.time.earliest()) * 1000)),
    ]);
    const [kind, number, node = '', session = '', device = '', keeper = '', former = ''] = response;
    if (kind === 'late') return undefined;
    if (kind === 'contended') return { kind, rejections: Number(number) };
    const epoch = Number(number);
    this.#highestEpoch = Math.max(this.#highestEpoch, epoch);
    const previous = session === '' ? undefined : { node, sessionId: session, deviceId: device };
    return {
      kind: 'bound',
      epoch,
      previous,
      unconfirmedAt: keeper === '' ? undefined : keeper,
      formerNode: former === '' ? undefined : former,
    };
  }

  owner(locationId: LocationId): Promise<StoredLease | undefined> {
    return this.#owner(nameOf(locationId));
  }

  async #owner(name: string): Promise<StoredLease | undefined> {
    const [node = '', sessionId, deviceId = '', epoch] = await this.#run(
      OWNER,
      [keyOf(name, 'lease'), SINCE],
      [],
    );
    if (sessionId !== undefined) return { node, sessionId, deviceId, epoch: Number(epoch) };
    this.#onLoss(Number(node));
    return undefined;
  }

  /** Renews all leases in one script. They must belong to one shard. */
  async renew(leases: readonly Lease[]): Promise<Renewal[]> {
    const keys: string[] = [];
    const args = [this.#node, String(LEASE_TTL_MS), this.#notAfter()];
    for (const { locationId, sessionId, deviceId, epoch } of leases) {
      const name = nameOf(locationId);
      keys.push(keyOf(name, 'lease'), keyOf(name, 'epoch'));
      args.push(sessionId, deviceId, String(epoch));
    }
    return (await this.#run(RENEW, keys, args)).map(renewal);
  }

  /**
   * Deletes the lease of the session, or of any session when none is named. Resolves with its holder. `keeper` is named to the node that
   * binds the device next.
   */
  async release(
    locationId: LocationId,
    sessionId = '',
    keeper?: LeaseKeeper,
  ): Promise<Pick<LeaseHolder, 'node' | 'sessionId'> | undefined> {
    const name = nameOf(locationId);
    const fields = ['lease', 'epoch', unconfirmedField(keeper?.deviceId ?? ''), 'bound'];
    const keys = fields.map((field) => keyOf(name, field));
    const args = [sessionId, keeper?.node ?? '', String(keeper?.forMs ?? 0)];
    const [node, session] = (await this.#redis.run(RELEASE, keys, args, REDIS_TIMEOUT_MS)) as string[];
    return node === undefined || session === undefined ? undefined : { node, sessionId: session };
  }

  #notAfter(): string {
    return String(Math.floor(this.time.earliest()) + REDIS_TIMEOUT_MS);
  }

  /** Runs a script whose response starts with Redis's time. Resolves with the rest of the response. */
  async #run(step: typeof BIND, keys: string[], args: string[]): Promise<string[]> {
    const sentAt = this.#clock.monotonic();
    const [millis, ...rest] = (await this.#redis.run(step, keys, args, REDIS_TIMEOUT_MS)) as string[];
    if (this.time.observe(Number(millis), sentAt) > MAX_STEP_MS) this.#onLoss(0);
    return rest;
  }
}

function renewal(outcome: string): Renewal {
  if (outcome === 'kept' || outcome === 'restored' || outcome === 'late') return { kind: outcome };
  return { kind: 'lost', to: outcome === 'lost' ? undefined : outcome.slice('lost:'.length) };
}

/** Leases of one shard share a hash slot, so that one script can renew them all, also on a Redis cluster. */
export const SHARDS = 64;
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

export const shardOf = (locationId: LocationId): number => LETTERS.indexOf(nameOf(locationId).charAt(0));

/** A hash: it accepts any id and keeps ids unreadable in Redis. */
const nameOf = (locationId: LocationId): string => hash('sha256', locationId, 'base64url').slice(0, 22);

const unconfirmedField = (deviceId: string) => `unconfirmed:${deviceId}`;

const SINCE = 'since';

const keyOf = (name: string, field: string) => `{${name.charAt(0)}}:${name}:${field}`;
