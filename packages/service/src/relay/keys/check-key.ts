import { headerProblem } from './header-name.ts';
import { SCHEMES } from './keys.ts';
import type { KeyRecord, KeyProblem, KeyInput } from './keys.ts';
import { readPublicKey } from './read-public-key.ts';

type Checked =
  | { readonly ok: true; readonly key: Omit<KeyRecord, 'id' | 'enabled' | 'createdAt'> }
  | { readonly ok: false; readonly problem: KeyProblem };

const MAX_LABEL = 100;
const MAX_LOCATIONS = 10_000;
const MAX_LOCATION = 256;

/** Checks whether a key may be added to the allowlist (S5, S6). The reason names the field, the problem and what to do. */
export function checkKey(input: KeyInput): Checked {
  const rejected = (field: KeyProblem['field'], reason: string): Checked => ({
    ok: false,
    problem: { field, reason: `${field} ${reason}` },
  });
  const label = input.label.trim();
  if (label === '' || label.length > MAX_LABEL || /\p{Cc}/u.test(label) || !label.isWellFormed())
    return rejected('label', `must have 1 to ${MAX_LABEL} printable characters`);
  const scheme = SCHEMES.find((known) => known === input.scheme);
  if (scheme === undefined) return rejected('scheme', `must be ${SCHEMES.join(' or ')}`);
  const problem = headerProblem(input.header);
  if (problem !== undefined) return rejected('header', problem);
  const read = readPublicKey(input.publicKey, scheme);
  if ('problem' in read) return rejected('publicKey', read.problem);
  const locations = input.locations ?? null;
  if (locations !== null && !locations.every(isLocation))
    return rejected('locations', `must be location ids of 1 to ${MAX_LOCATION} characters`);
  if (locations !== null && (locations.length === 0 || locations.length > MAX_LOCATIONS))
    return rejected('locations', `must contain 1 to ${MAX_LOCATIONS} locations; leave it out to allow all`);
  return {
    ok: true,
    key: {
      label,
      scheme,
      header: input.header,
      publicKey: read.pem,
      fingerprint: read.fingerprint,
      locations: locations === null ? null : [...new Set(locations)],
    },
  };
}

const isLocation = (id: string): boolean =>
  id.trim() !== '' && id.length <= MAX_LOCATION && id.isWellFormed() && !/\p{Cc}/u.test(id);
