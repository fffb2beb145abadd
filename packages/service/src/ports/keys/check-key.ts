import { headerFault } from './header-name.ts';
import { SCHEMES } from './keys.ts';
import type { KeyRecord, KeyRefusal, OfferedKey } from './keys.ts';
import { readPublicKey } from './read-public-key.ts';

type Checked =
  | { readonly ok: true; readonly key: Omit<KeyRecord, 'id' | 'enabled' | 'createdAt'> }
  | { readonly ok: false; readonly refusal: KeyRefusal };

const MAX_LABEL = 100;
const MAX_LOCATIONS = 10_000;
const MAX_LOCATION = 256;

/** What may enter the allowlist (S5, S6). The reason names the field, what is wrong with it, and what to do. */
export function checkKey(offered: OfferedKey): Checked {
  const refused = (field: KeyRefusal['field'], reason: string): Checked => ({
    ok: false,
    refusal: { field, reason: `${field} ${reason}` },
  });
  const label = offered.label.trim();
  if (label === '' || label.length > MAX_LABEL || /\p{Cc}/u.test(label) || !label.isWellFormed())
    return refused('label', `must have 1 to ${MAX_LABEL} printable characters`);
  const scheme = SCHEMES.find((known) => known === offered.scheme);
  if (scheme === undefined) return refused('scheme', `must be ${SCHEMES.join(' or ')}`);
  const fault = headerFault(offered.header);
  if (fault !== undefined) return refused('header', fault);
  const read = readPublicKey(offered.publicKey, scheme);
  if ('fault' in read) return refused('publicKey', read.fault);
  const locations = offered.locations ?? null;
  if (locations !== null && !locations.every(isLocation))
    return refused('locations', `must be location ids of 1 to ${MAX_LOCATION} characters`);
  if (locations !== null && (locations.length === 0 || locations.length > MAX_LOCATIONS))
    return refused('locations', `must name 1 to ${MAX_LOCATIONS} locations; leave it out to allow all`);
  return {
    ok: true,
    key: {
      label,
      scheme,
      header: offered.header,
      publicKey: read.pem,
      fingerprint: read.fingerprint,
      locations: locations === null ? null : [...new Set(locations)],
    },
  };
}

const isLocation = (id: string): boolean =>
  id.trim() !== '' && id.length <= MAX_LOCATION && id.isWellFormed() && !/\p{Cc}/u.test(id);
