import type { Finding } from '../../platform/findings.ts';
import type { Occurrences } from '../../platform/recent-occurrences.ts';

/** Fewer may come from a scanner. */
const MIN_REJECTED = 5;

/** Finds webhooks whose signature header is known, but whose signature no key verifies. */
export function rejectedSignatures({ count, since }: Occurrences): Finding[] {
  if (count < MIN_REJECTED) return [];
  return [
    {
      kind: 'signatures_rejected',
      subject: '',
      locationIds: null,
      sentence: `${count} webhooks got 401: their signature header is known, but no key verifies their signatures.`,
      action:
        'Compare the key of the CRM with `footbridge keys list`, and check that no proxy changes the body. `footbridge keys test` names the failing step for a sample.',
      since,
    },
  ];
}
