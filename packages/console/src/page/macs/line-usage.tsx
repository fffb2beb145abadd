import type { listLocations } from '@footbridge/protocol/operator/accounts';
import type { ResponseOf } from '@footbridge/protocol/operator/call';

import { timeText } from '../times.ts';

const newLastHourText = (used: number, limit: number) =>
  `${used} of ${limit} new conversations in the last hour.`;
const newLastDayText = (used: number, limit: number) =>
  `${used} of ${limit} new conversations in the last day.`;
const heldText = (count: number) =>
  `${count} ${count === 1 ? 'message waits' : 'messages wait'} for a limit.`;
const nextSlotText = (time: string) => `Next free slot: ${time}.`;

/** A location with the limits of its line, as the connected Mac reports them. */
export type Line = ResponseOf<typeof listLocations>['locations'][number];

type Pacing = NonNullable<NonNullable<NonNullable<Line['connected']>['state']>['pacing']>;
const NONE: Partial<Pacing> = {};

/** How far the limits of a line are used. */
export function LineUsage({ line }: { readonly line: Line | undefined }) {
  const pacing = line?.connected?.state?.pacing;
  const { newPerHour, newLastHour = 0, newPerDay, newLastDay = 0, held = 0, nextSlotAt } = pacing ?? NONE;
  const facts = [
    ...(newPerHour === undefined ? [] : [newLastHourText(newLastHour, newPerHour)]),
    ...(newPerDay === undefined ? [] : [newLastDayText(newLastDay, newPerDay)]),
    ...(held === 0 ? [] : [heldText(held)]),
    ...(nextSlotAt === undefined ? [] : [nextSlotText(timeText(nextSlotAt))]),
  ];
  return facts.length === 0 ? null : <p class="hint">{facts.join(' ')}</p>;
}
