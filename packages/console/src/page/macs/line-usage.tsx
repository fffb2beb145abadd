import type { listLocations } from '@footbridge/protocol/operator/accounts';
import type { ResponseOf } from '@footbridge/protocol/operator/call';

import { MACS_TEXTS } from '../texts.ts';
import { timeText } from '../times.ts';

/** A location with the limits of its line, as the connected Mac reports them. */
export type Line = ResponseOf<typeof listLocations>['locations'][number];

type Pacing = NonNullable<NonNullable<NonNullable<Line['connected']>['state']>['pacing']>;
const NONE: Partial<Pacing> = {};

/** How far the limits of a line are used. */
export function LineUsage({ line }: { readonly line: Line | undefined }) {
  const pacing = line?.connected?.state?.pacing;
  const { newPerHour, newLastHour = 0, newPerDay, newLastDay = 0, held = 0, nextSlotAt } = pacing ?? NONE;
  const facts = [
    ...(newPerHour === undefined ? [] : [MACS_TEXTS.newLastHour(newLastHour, newPerHour)]),
    ...(newPerDay === undefined ? [] : [MACS_TEXTS.newLastDay(newLastDay, newPerDay)]),
    ...(held === 0 ? [] : [MACS_TEXTS.held(held)]),
    ...(nextSlotAt === undefined ? [] : [MACS_TEXTS.nextSlot(timeText(nextSlotAt))]),
  ];
  return facts.length === 0 ? null : <p class="hint">{facts.join(' ')}</p>;
}
