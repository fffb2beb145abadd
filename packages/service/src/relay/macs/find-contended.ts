import type { Finding } from '../../platform/findings.ts';
import type { Occurrences } from '../../platform/recent-occurrences.ts';

/** Finds locations that several Macs claim. */
export const contendedLocations = (contended: ReadonlyMap<string, Occurrences>): Finding[] =>
  Array.from(contended, ([locationId, { since }]) => ({
    kind: 'location_contended' as const,
    subject: locationId,
    locationIds: [locationId],
    sentence: 'Several Macs claim this location and displace each other.',
    action:
      'Find them with `footbridge device list`, and stop the agent on all but one, or give the others their own locations.',
    since,
  }));
