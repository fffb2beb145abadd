import type { Clock } from '@footbridge/runtime/clock';

import type { Journal } from '../../journal/journal.ts';
import type { Held } from './held-jobs.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const TIMES = 'new-conversations';
const WARM_UP_BEGAN = 'warm-up-began';

export interface NewConversationLimits {
  /** The maximum number of new conversations. 0: no limit. */
  readonly newPerHour: number;
  readonly newPerDay: number;
  /** The maximum for each of the first days of a new line. Later only `newPerDay` applies. Empty: no warm-up. */
  readonly warmUp: readonly number[];
}

export interface NewConversationDeps {
  readonly limits: NewConversationLimits;
  /** Keeps the times across restarts. */
  readonly memory: Pick<Journal, 'note' | 'setNote'>;
  readonly clock: Clock;
}

/** Limits how many conversations this line begins. */
export class NewConversations {
  readonly #deps: NewConversationDeps;

  constructor(deps: NewConversationDeps) {
    this.#deps = deps;
  }

  isLimited(): boolean {
    const { newPerHour, newPerDay, warmUp } = this.#deps.limits;
    return newPerHour > 0 || newPerDay > 0 || warmUp.length > 0;
  }

  /** Returns the limit that is reached, or undefined when a conversation may begin now. */
  reached(): Held | undefined {
    const now = this.#deps.clock.now();
    const times = this.#times(now);
    const limit = this.#fullAt(now, times);
    if (limit === undefined) return undefined;
    return { state: 'held', limit: `begun ${limit}`, slotAt: this.#nextSlot(now, times) };
  }

  count(): void {
    const { memory, clock } = this.#deps;
    const now = clock.now();
    memory.setNote(TIMES, JSON.stringify([...this.#times(now), now]));
  }

  /** The first day of the warm-up begins with the first send. */
  beginWarmUp(): void {
    const { limits, memory, clock } = this.#deps;
    if (limits.warmUp.length > 0 && this.#warmUpBegan() === undefined)
      memory.setNote(WARM_UP_BEGAN, String(clock.now()));
  }

  /** Returns the limits that apply now, and how much of each is used. */
  usage(): Readonly<Record<string, number>> {
    const { limits, clock } = this.#deps;
    const now = clock.now();
    const times = this.#times(now);
    const perDay = this.#perDay(now);
    const day = this.#warmUpDay(now);
    return {
      ...(limits.newPerHour > 0 && {
        newPerHour: limits.newPerHour,
        newLastHour: countSince(times, now, HOUR_MS),
      }),
      ...(perDay !== undefined && { newPerDay: perDay, newLastDay: countSince(times, now, DAY_MS) }),
      ...(day < limits.warmUp.length && { warmUpDay: day + 1, warmUpDays: limits.warmUp.length }),
    };
  }

  #fullAt(at: number, times: readonly number[]): string | undefined {
    const { newPerHour } = this.#deps.limits;
    const perDay = this.#perDay(at);
    if (newPerHour > 0 && countSince(times, at, HOUR_MS) >= newPerHour)
      return `${newPerHour} new conversations in an hour`;
    if (perDay !== undefined && countSince(times, at, DAY_MS) >= perDay)
      return `${perDay} new conversations in a day`;
    return undefined;
  }

  /** Returns when the limits have room: when a conversation is an hour or a day old, or when the next day of the warm-up begins. */
  #nextSlot(now: number, times: readonly number[]): number {
    const began = this.#warmUpBegan();
    const steps =
      began === undefined ? [] : this.#deps.limits.warmUp.map((_, day) => began + (day + 1) * DAY_MS);
    const changes = [...times.flatMap((at) => [at + HOUR_MS, at + DAY_MS]), ...steps];
    const later = changes.filter((at) => at > now).toSorted((one, other) => one - other);
    return later.find((at) => this.#fullAt(at, times) === undefined) ?? now + DAY_MS;
  }

  #perDay(at: number): number | undefined {
    const { newPerDay, warmUp } = this.#deps.limits;
    const limits = [newPerDay, warmUp[this.#warmUpDay(at)] ?? 0].filter((limit) => limit > 0);
    return limits.length === 0 ? undefined : Math.min(...limits);
  }

  /** Returns the day of the warm-up, from 0. */
  #warmUpDay(at: number): number {
    return Math.max(0, Math.floor((at - (this.#warmUpBegan() ?? at)) / DAY_MS));
  }

  #warmUpBegan(): number | undefined {
    const noted = this.#deps.memory.note(WARM_UP_BEGAN);
    return noted === undefined ? undefined : Number(noted);
  }

  /** Returns when conversations began within the last day. */
  #times(now: number): number[] {
    const saved: unknown = JSON.parse(this.#deps.memory.note(TIMES) ?? '[]');
    const times: unknown[] = Array.isArray(saved) ? saved : [];
    return times.filter((at): at is number => typeof at === 'number' && at > now - DAY_MS && at <= now);
  }
}

function countSince(times: readonly number[], now: number, ms: number): number {
  return times.filter((at) => at > now - ms).length;
}
