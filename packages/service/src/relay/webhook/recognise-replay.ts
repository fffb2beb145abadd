import { createHash } from 'node:crypto';

import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import type { SeenRequests } from './seen-requests-sql.ts';
import { RecentCache } from '../../platform/recent-cache.ts';

export interface ReplayMemoryDeps {
  readonly seen: Pick<SeenRequests, 'has' | 'add'>;
  /** Separates the hashes of different kinds of requests. */
  readonly kind: 'webhook' | 'event';
  readonly keptMs: number;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
}

const KEPT_HERE = 50_000;

/**
 * Recognises a signed request that was handled before, byte for byte (T1, T66). The key does not count: the CRM may sign one body with two
 * keys. Hashes are in the database. The latest hashes are also in memory, in case the database is unavailable.
 */
export class ReplayMemory {
  readonly #deps: ReplayMemoryDeps;
  /** When each hash expires. */
  readonly #recent = new RecentCache<string, number>(KEPT_HERE);
  /** Requests that are being forwarded now, by hash. None rejects. */
  readonly #inFlight = new Map<string, Promise<unknown>>();

  constructor(deps: ReplayMemoryDeps) {
    this.#deps = deps;
  }

  has(rawBody: Uint8Array): Promise<boolean> {
    return this.#has(this.#hashOf(rawBody));
  }

  add(rawBody: Uint8Array): Promise<void> {
    return this.#add(this.#hashOf(rawBody));
  }

  /**
   * Runs `send` unless the request is a replay. It is remembered when `send` resolves with true. Resolves with whether it was a replay. A repeat of a
   * request in flight waits for it, and is sent only if that request was not sent.
   */
  async once(rawBody: Uint8Array, send: () => Promise<boolean>): Promise<boolean> {
    const hash = this.#hashOf(rawBody);
    for (let earlier = this.#inFlight.get(hash); earlier !== undefined; earlier = this.#inFlight.get(hash))
      await earlier;
    const sending = this.#sendUnlessKnown(hash, send).finally(() => this.#inFlight.delete(hash));
    this.#inFlight.set(
      hash,
      sending.catch(() => {}),
    );
    return sending;
  }

  async #sendUnlessKnown(hash: string, send: () => Promise<boolean>): Promise<boolean> {
    if (await this.#has(hash)) return true;
    if (await send()) await this.#add(hash);
    return false;
  }

  #hashOf(rawBody: Uint8Array): string {
    return createHash('sha256').update(`${this.#deps.kind} `).update(rawBody).digest('base64url');
  }

  async #has(hash: string): Promise<boolean> {
    const { seen, clock, log } = this.#deps;
    const expiresAt = this.#recent.get(hash);
    if (expiresAt !== undefined && expiresAt > clock.now()) return true;
    try {
      return await seen.has(hash);
    } catch (error) {
      log.warn(
        { event: 'replay.not_read', err: error },
        'signed requests not read; only recent repeats are recognised',
      );
      return false;
    }
  }

  async #add(hash: string): Promise<void> {
    const { seen, keptMs, clock, log } = this.#deps;
    const expiresAt = clock.now() + keptMs;
    this.#recent.set(hash, expiresAt);
    try {
      await seen.add(hash, expiresAt);
    } catch (error) {
      log.warn(
        { event: 'replay.not_recorded', err: error },
        'signed request not recorded; a repeat after a restart is not recognised',
      );
    }
  }
}
