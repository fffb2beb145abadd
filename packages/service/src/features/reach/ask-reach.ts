import type { ReachResultFrame } from '@footbridge/protocol/frames';
import { newRequestId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import type { Clock } from '@footbridge/runtime/clock';

import type { KeyedHash } from '../../relay/people/handles.ts';
import type { Switchboard } from '../../relay/switchboard/switchboard.ts';
import { RecentCache } from '../../platform/recent-cache.ts';

export interface Reach extends Pick<ReachResultFrame, 'reach' | 'reason'> {
  /** When the Mac replied, or the request timed out. */
  readonly at: number;
}

export interface ReachDeps {
  readonly switchboard: Pick<Switchboard, 'send' | 'onReply'>;
  readonly hashes: Pick<KeyedHash, 'handle'>;
  readonly clock: Pick<Clock, 'now' | 'after'>;
}

const TIMEOUT_MS = 5000;
const CACHED_MS = 3_600_000;
const MAX_CACHED = 10_000;
const NO_REPLY = { reach: 'unknown', reason: 'The Mac did not reply within 5 seconds.' } as const;

/** Whether a person is reached by iMessage or SMS, from the history of the Mac that holds a location, on any node. */
export function createReach({ switchboard, hashes, clock }: ReachDeps) {
  const cache = new RecentCache<string, Reach>(MAX_CACHED);
  const waiting = new Map<string, (reply: Pick<Reach, 'reach' | 'reason'>) => void>();
  switchboard.onReply((reply) => {
    const resolve = waiting.get(reply.requestId);
    resolve?.(reply);
    return resolve !== undefined;
  });

  async function ask(locationId: LocationId, phone: string): Promise<Reach | 'not_connected'> {
    const requestId = newRequestId(clock.now());
    const { promise, resolve } = Promise.withResolvers<Pick<Reach, 'reach' | 'reason'>>();
    waiting.set(requestId, resolve);
    const cancel = clock.after(TIMEOUT_MS, () => resolve(NO_REPLY));
    try {
      const outcome = await switchboard.send(locationId, { type: 'reach_request', requestId, phone });
      if (outcome === 'not_connected') return outcome;
      const { reach, reason } = await promise;
      return { reach, reason, at: clock.now() };
    } finally {
      cancel();
      waiting.delete(requestId);
    }
  }

  const keyOf = (locationId: LocationId, phone: string) => `${hashes.handle(phone)[0] ?? ''} ${locationId}`;

  async function afresh(locationId: LocationId, phone: string): Promise<Reach | 'not_connected'> {
    const reach = await ask(locationId, phone);
    // The first message to a person may change `unknown` at any moment.
    if (reach !== 'not_connected' && reach.reach !== 'unknown') cache.set(keyOf(locationId, phone), reach);
    return reach;
  }

  return {
    /** `phone` is in E.164, or an email address. */
    async of(locationId: LocationId, phone: string): Promise<Reach | 'not_connected'> {
      const cached = cache.get(keyOf(locationId, phone));
      return cached !== undefined && clock.now() - cached.at < CACHED_MS ? cached : afresh(locationId, phone);
    },

    /** Asks the Mac even if the cache has a value. */
    afresh,

    /** Without a location: all of them. */
    forget: (locationId?: string): void =>
      cache.deleteWhere((key) => [undefined, key.slice(key.indexOf(' ') + 1)].includes(locationId)),
  };
}
