import { counted } from '../../platform/findings.ts';
import type { Finding } from '../../platform/findings.ts';
import type { Occurrences } from '../../platform/recent-occurrences.ts';

export interface SeatsOf {
  readonly id: string;
  readonly label: string;
  readonly seats: { readonly used: number; readonly max: number };
  readonly locationIds: readonly string[];
}

/** Finds licenses that refused a Mac and have no free seat. */
export function exhaustedSeats(
  licenses: readonly SeatsOf[],
  seatsRefused: ReadonlyMap<string, Occurrences>,
): Finding[] {
  return licenses.flatMap(({ id, label, seats, locationIds }) => {
    const refused = seatsRefused.get(id);
    if (refused === undefined || seats.used < seats.max) return [];
    return [
      {
        kind: 'seats_exhausted' as const,
        subject: id,
        locationIds,
        licenseId: id,
        sentence: `A Mac was refused: all ${counted(seats.max, 'seat')} of the license “${label}” are taken.`,
        action: `Free a seat with \`footbridge device revoke\`, or add one with \`footbridge license seats\`.`,
        since: refused.since,
      },
    ];
  });
}
