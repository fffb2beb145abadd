import type { StateFrame } from '@footbridge/protocol/frames';
import type { Clock } from '@footbridge/runtime/clock';

import type { Destination, MessageStore, SendFailure } from '../../ports/messages/messages.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How fast the agent may send. Apple may flag accounts that send too fast, or to too many new people, as spam. */
export interface PacingLimits {
  /** The pause after each send. Its length varies, so that sends do not look like those of a program. */
  readonly gap: { readonly minMs: number; readonly maxMs: number };
  /** The maximum number of new conversations. 0: no limit. */
  readonly newPerHour: number;
  readonly newPerDay: number;
}

export interface PacingDeps {
  readonly limits: PacingLimits;
  /** Keeps the times of new conversations over a restart. */
  readonly memory: { readonly load: () => string | undefined; readonly save: (value: string) => void };
  readonly clock: Clock;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
}

/** Limits the rate of sends. */
export class Pacing {
  readonly #deps: PacingDeps;

  constructor(deps: PacingDeps) {
    this.#deps = deps;
  }

  /** Resolves after the pause between two sends. */
  async pause(signal?: AbortSignal): Promise<void> {
    const { limits, clock, random } = this.#deps;
    const { minMs, maxMs } = limits.gap;
    const ms = minMs + random() * (maxMs - minMs);
    if (ms > 0) await clock.sleep(ms, signal);
  }

  /** Counts a send that begins a conversation. Returns a failure instead when the limit is reached. */
  admit(destination: Destination, store: MessageStore): SendFailure | undefined {
    const { limits, memory, clock } = this.#deps;
    const { newPerHour, newPerDay } = limits;
    if ((newPerHour === 0 && newPerDay === 0) || !isNew(destination, store)) return undefined;
    const now = clock.now();
    const times = this.#times(now);
    const isFull = (limit: number, ms: number): boolean =>
      limit > 0 && times.filter((at) => at > now - ms).length >= limit;
    if (isFull(newPerHour, HOUR_MS)) return refused(`${newPerHour} new conversations in an hour`);
    if (isFull(newPerDay, DAY_MS)) return refused(`${newPerDay} new conversations in a day`);
    memory.save(JSON.stringify([...times, now]));
    return undefined;
  }

  /** Returns the limits and how far they are used up, or undefined when there are none. */
  state(): StateFrame['pacing'] {
    const { limits, clock } = this.#deps;
    const { gap, newPerHour, newPerDay } = limits;
    const isLimited = newPerHour > 0 || newPerDay > 0;
    if (gap.maxMs === 0 && !isLimited) return undefined;
    const now = clock.now();
    const times = isLimited ? this.#times(now) : [];
    return {
      minGapMs: gap.minMs,
      maxGapMs: gap.maxMs,
      ...(newPerHour > 0 && { newPerHour, newLastHour: times.filter((at) => at > now - HOUR_MS).length }),
      ...(newPerDay > 0 && { newPerDay, newLastDay: times.length }),
    };
  }

  /** The times of the new conversations of the last day. */
  #times(now: number): number[] {
    const saved: unknown = JSON.parse(this.#deps.memory.load() ?? '[]');
    const times: unknown[] = Array.isArray(saved) ? saved : [];
    return times.filter((at): at is number => typeof at === 'number' && at > now - DAY_MS && at <= now);
  }
}

/** A conversation with this person by another service counts as known. */
function isNew(destination: Destination, store: MessageStore): boolean {
  if (destination.to === 'chat') return false;
  if (destination.to === 'group')
    return store.groupOf(destination.recipients, destination.service) === undefined;
  return (['iMessage', 'SMS', 'RCS'] as const).every(
    (service) => store.directChat(destination.handle, service) === undefined,
  );
}

function refused(limit: string): SendFailure {
  const message = `This Mac has begun ${limit}, which is its limit. Nothing was sent. Send it again later.`;
  return { result: 'failed', code: 'RATE_LIMITED', message };
}
