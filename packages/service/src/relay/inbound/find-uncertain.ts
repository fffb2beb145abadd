import { counted } from '../../platform/findings.ts';
import type { Finding } from '../../platform/findings.ts';

interface Uncertain {
  readonly locationId: string;
  readonly state: string;
  readonly createdAt: number;
}

/** Finds messages that may be missing from the CRM, or be there twice because they were posted again; newest first. */
export function uncertainDeliveries(uncertain: readonly Uncertain[]): Finding[] {
  return Array.from(
    Map.groupBy(uncertain, ({ locationId }) => locationId),
    ([locationId, messages]) => {
      const twice = messages.filter(({ state }) => state === 'delivered').length;
      const parked = messages.length - twice;
      const [lacks, repeats] = [counted(parked, 'inbound message'), counted(twice, 'inbound message')];
      return {
        kind: 'deliveries_uncertain' as const,
        subject: locationId,
        locationIds: [locationId],
        sentence: [
          ...(parked > 0 ? [`The CRM may be missing ${lacks}.`] : []),
          ...(twice > 0 ? [`The CRM may have ${repeats} twice.`] : []),
          'Its responses were lost, and its conversations could not be read.',
        ].join(' '),
        action: [
          'Open each message to see what could not be read, and look it up in the CRM.',
          ...(parked > 0 ? ['Redeliver those that are missing.'] : []),
          ...(twice > 0 ? ['Delete the copies of those that are there twice.'] : []),
        ].join(' '),
        since: messages.at(-1)?.createdAt ?? null,
      };
    },
  );
}
