import type { StateFrame } from '@footbridge/protocol/frames';

import { MACS_TEXTS } from '../texts.ts';
import { timeText } from '../times.ts';

/** A location with the limits of its line, as the connected Mac reports them. */
export interface Line {
  readonly locationId: string;
  readonly connected: {
    readonly state: { readonly pacing?: Partial<NonNullable<StateFrame['pacing']>> } | null;
  } | null;
}

/** How far the limits of a line are used. */
export function LineUsage({ line }: { readonly line: Line | undefined }) {
  const pacing = line?.connected?.state?.pacing ?? {};
  const { newPerHour, newLastHour = 0, newPerDay, newLastDay = 0, held = 0, nextSlotAt } = pacing;
  const facts = [
    ...(newPerHour === undefined ? [] : [MACS_TEXTS.newLastHour(newLastHour, newPerHour)]),
    ...(newPerDay === undefined ? [] : [MACS_TEXTS.newLastDay(newLastDay, newPerDay)]),
    ...(held === 0 ? [] : [MACS_TEXTS.held(held)]),
    ...(nextSlotAt === undefined ? [] : [MACS_TEXTS.nextSlot(timeText(nextSlotAt))]),
  ];
  return facts.length === 0 ? null : <p class="hint">{facts.join(' ')}</p>;
}
