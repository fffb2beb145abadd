import { hash } from 'node:crypto';

import type { LocationId } from '@footbridge/protocol/ids';

import type { Clock } from '../../clock.ts';
import { EngineError } from '../../errors.ts';
import { loadScript } from '../../redis/open-redis.ts';
import type { Redis } from '../../redis/open-redis.ts';
import { RedisTime } from './redis-time.ts';
import type { Contention, Lease } from './switchboard.ts';

const script = (name: string) => loadScript(new URL(`scripts/${name}.lua`, import.meta.url));
const BIND = script('bind');
const RENEW = script('renew');
const RELEASE = script('release');
const OWNER = script('owner');

/** Leases end by themselves after this long. */
export const TTL_MS = 10_000;
/** As long as an answer of Redis is waited for; a script that starts later than that does nothing. */
export const PATIENCE_MS = 1000;

/** Who sits at a line, and where. */
export interface Seat {
  readonly node: string;
  readonly sessionId: string;
  readonly deviceId: string;
}

export interface Owner extends Seat {
  readonly epoch: number;
}

export type Taken =
  | { readonly kind: 'bound'; readonly epoch: number; readonly former: Seat | undefined }
  | { readonly kind: 'contended'; readonly refusals: number };

/** `restored`: Redis had forgotten the lease. `lost`: to the device `to`, or to nobody. `late`: nothing was done. */
export type Renewal =
  | { readonly kind: 'kept' | 'restored' | 'late' }
  | { readonly kind: 'lost'; readonly to: string | undefined };

export interface RedisLeasesOptions {
  readonly redis: Pick<Redis, 'run'>;
  readonly node: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly contention: Contention;
}

/** The leases as Redis keeps them, one script per atomic step. Everything here rejects with EngineError when Redis is away. */
export class RedisLeases {
  readonly time: RedisTime;
  readonly #redis: Pick<Redis, 'run'>;
  readonly #node: string;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #contention: Contention;
  #highestEpoch = 0;

  constructor({ redis, node, clock, contention }: RedisLeasesOptions) {
    this.#redis = redis;
    this.#node = node;
    this.#clock = clock;
    this.#contention = contention;
    this.time = new RedisTime(() => clock.monotonic());
  }

  /** Learns Redis's time, without which no deadline can be set. */
  async open(): Promise<void> {
    await this.#run(OWNER, [keyOf('A', 'nobody')], []);
  }

  async bind(locationId: LocationId, seat: Omit<Seat, 'node'>): Promise<Taken> {
    const outcome = await this.#bindOnce(locationId, seat);
    // Only a clock that was set over there makes the first one late and the second one not.
    const taken = outcome ?? (await this.#bindOnce(locationId, seat));
    if (taken === undefined) throw new EngineError('redis', 'Redis answered too late');
    return taken;
  }

  async #bindOnce(
    locationId: LocationId,
    { sessionId, deviceId }: Omit<Seat, 'node'>,
  ): Promise<Taken | undefined> {
    const { windowMs, displacements } = this.#contention;
    const keys = ['lease', 'epoch', 'fights', 'refusals'].map((what) => keyOf(nameOf(locationId), what));
    const [kind, number, node = '', session = '', device = ''] = await this.#run(BIND, keys, [
      this.#node,
      sessionId,
      deviceId,
      String(TTL_MS),
      String(windowMs),
      String(displacements),
      this.#notAfter(),
      String(Math.max(this.#highestEpoch + 1, Math.floor(this.time.earliest()) * 1000)),
    ]);
    if (kind === 'late') return undefined;
    if (kind === 'contended') return { kind, refusals: Number(number) };
    const epoch = Number(number);
    this.#highestEpoch = Math.max(this.#highestEpoch, epoch);
    const former = session === '' ? undefined : { node, sessionId: session, deviceId: device };
    return { kind: 'bound', epoch, former };
  }

  async owner(locationId: LocationId): Promise<Owner | undefined> {
    const keys = [keyOf(nameOf(locationId), 'lease')];
    const [node = '', sessionId = '', deviceId = '', epoch = ''] = await this.#run(OWNER, keys, []);
    return node === '' ? undefined : { node, sessionId, deviceId, epoch: Number(epoch) };
  }

  /** All in one step; they must be of one shard. */
  async renew(leases: readonly Lease[]): Promise<Renewal[]> {
    const keys: string[] = [];
    const args = [this.#node, String(TTL_MS), this.#notAfter()];
    for (const { locationId, sessionId, deviceId, epoch } of leases) {
      const name = nameOf(locationId);
      keys.push(keyOf(name, 'lease'), keyOf(name, 'epoch'));
      args.push(sessionId, deviceId, String(epoch));
    }
    return (await this.#run(RENEW, keys, args)).map(renewal);
  }

  /** Gives up the lease of that session, or of whoever holds it; answers who did. */
  async release(
    locationId: LocationId,
    sessionId = '',
  ): Promise<Pick<Seat, 'node' | 'sessionId'> | undefined> {
    const name = nameOf(locationId);
    const keys = [keyOf(name, 'lease'), keyOf(name, 'epoch')];
    const [node, session] = (await this.#redis.run(RELEASE, keys, [sessionId], PATIENCE_MS)) as string[];
    return node === undefined || session === undefined ? undefined : { node, sessionId: session };
  }

  #notAfter(): string {
    return String(Math.floor(this.time.earliest()) + PATIENCE_MS);
  }

  /** Runs a script whose answer begins with Redis's time; gives the rest. */
  async #run(step: typeof BIND, keys: string[], args: string[]): Promise<string[]> {
    const askedAt = this.#clock.monotonic();
    const [millis, ...rest] = (await this.#redis.run(step, keys, args, PATIENCE_MS)) as string[];
    this.time.told(Number(millis), askedAt);
    return rest;
  }
}

function renewal(outcome: string): Renewal {
  if (outcome === 'kept' || outcome === 'restored' || outcome === 'late') return { kind: outcome };
  return { kind: 'lost', to: outcome === 'lost' ? undefined : outcome.slice('lost:'.length) };
}

/** Leases of one shard share a hash slot, so that one script may renew them all, also on a cluster. */
export const SHARDS = 64;
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

export const shardOf = (locationId: LocationId): number => LETTERS.indexOf(nameOf(locationId).charAt(0));

/** Any id fits, and none is readable in Redis. */
const nameOf = (locationId: LocationId): string => hash('sha256', locationId, 'base64url').slice(0, 22);

const keyOf = (name: string, what: string) => `footbridge:{${name.charAt(0)}}:${name}:${what}`;
