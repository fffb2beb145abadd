import type { StateFrame } from '@footbridge/protocol/frames';
import type { Clock } from '@footbridge/runtime/clock';

import type { Journal } from '../../journal/journal.ts';
import type { Destination, MessageStore } from '../../ports/messages/messages.ts';
import { personOf } from './find-chat.ts';
import { NewConversations } from './new-conversations.ts';
import type { NewConversationLimits } from './new-conversations.ts';
import { personLimit } from './person-limits.ts';
import type { PersonLimits } from './person-limits.ts';
import type { Held } from './held-jobs.ts';

/** How fast the agent may send. Apple may flag accounts that send too fast, or to too many new people, as spam. */
export interface PacingLimits extends NewConversationLimits, PersonLimits {
  /** The pause after each send. Its length varies, so that the sends do not look automated. */
  readonly gap: { readonly minMs: number; readonly maxMs: number };
}

export interface PacingDeps {
  readonly limits: PacingLimits;
  /** Keeps the times of new conversations over a restart. */
  readonly memory: Pick<Journal, 'note' | 'setNote'>;
  readonly clock: Clock;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
}

/** Limits the rate of sends. */
export class Pacing {
  readonly #deps: PacingDeps;
  readonly #newConversations: NewConversations;

  constructor(deps: PacingDeps) {
    this.#deps = deps;
    this.#newConversations = new NewConversations(deps);
  }

  /** Resolves after the pause between two sends. */
  async pause(signal?: AbortSignal): Promise<void> {
    const { limits, clock, random } = this.#deps;
    const { minMs, maxMs } = limits.gap;
    const ms = minMs + random() * (maxMs - minMs);
    if (ms > 0) await clock.sleep(ms, signal);
  }

  /** Returns the limit that a message to this destination exceeds, or undefined when it may be sent now. */
  reached(destination: Destination, store: MessageStore): Held | undefined {
    const { limits, clock } = this.#deps;
    if (this.#newConversations.isLimited() && isNew(destination, store))
      return this.#newConversations.reached();
    const handle = personOf(destination, store);
    return handle === undefined ? undefined : personLimit(handle, limits, store, clock.now());
  }

  /** Counts a send that is about to be made. */
  count(destination: Destination, store: MessageStore): void {
    if (!this.#newConversations.isLimited()) return;
    this.#newConversations.beginWarmUp();
    if (isNew(destination, store)) this.#newConversations.count();
  }

  /** Returns the limits and how much of each is used, or undefined when there are none. */
  state(held: { readonly count: number; readonly nextSlotAt: number | undefined }): StateFrame['pacing'] {
    const { gap, maxUnanswered, maxAnswers } = this.#deps.limits;
    const isLimited = this.#newConversations.isLimited();
    if (gap.maxMs === 0 && !isLimited && maxUnanswered === 0 && maxAnswers === 0) return undefined;
    const slots = [held.nextSlotAt, isLimited ? this.#newConversations.reached()?.slotAt : undefined];
    const [nextSlotAt] = slots.filter((at) => at !== undefined).toSorted((one, other) => one - other);
    return {
      minGapMs: gap.minMs,
      maxGapMs: gap.maxMs,
      ...(isLimited && this.#newConversations.usage()),
      ...(maxUnanswered > 0 && { maxUnanswered }),
      ...(maxAnswers > 0 && { maxAnswers }),
      ...(held.count > 0 && { held: held.count }),
      ...(nextSlotAt !== undefined && { nextSlotAt: new Date(nextSlotAt).toISOString() }),
    };
  }
}

/** Whether a message begins a conversation. A conversation with this person on another service counts as known. */
function isNew(destination: Destination, store: MessageStore): boolean {
  if (destination.to === 'chat') return false;
  if (destination.to === 'group')
    return store.groupOf(destination.recipients, destination.service) === undefined;
  return (['iMessage', 'SMS', 'RCS'] as const).every(
    (service) => store.directChat(destination.handle, service) === undefined,
  );
}
