import { counted } from '../../platform/findings.ts';
import type { Finding } from '../../platform/findings.ts';
import { UNREADABLE_TOKENS } from '../../relay/crm/tokens.ts';

/** One finding for all owners of tokens that no configured key decrypts: they have one cause. */
export function unreadableTokens(
  found: readonly { readonly kind: string; readonly ownerId: string }[],
): Finding[] {
  const companies = found.filter(({ kind }) => kind === 'company').length;
  const locationIds = found.filter(({ kind }) => kind !== 'company').map(({ ownerId }) => ownerId);
  if (found.length === 0) return [];
  const owners = [
    ...(companies > 0 ? [counted(companies, 'agency', 'agencies')] : []),
    ...(locationIds.length > 0 ? [counted(locationIds.length, 'location')] : []),
  ];
  const isPrivate = found.some(({ kind }) => kind === 'private');
  return [
    {
      kind: 'tokens_unreadable',
      subject: '',
      // No location has lost its token yet.
      locationIds: locationIds.length === 0 ? null : locationIds,
      sentence: `The CRM cannot be called for ${owners.join(' and ')}. ${UNREADABLE_TOKENS.sentence}`,
      action: UNREADABLE_TOKENS.actions[isPrivate ? 'private' : 'grant'],
      since: null,
    },
  ];
}
