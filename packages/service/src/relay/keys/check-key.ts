import { SCHEMES } from './keys.ts';
import type { KeyRecord, KeyProblem, KeyInput } from './keys.ts';
import { readPublicKey } from './read-public-key.ts';

/** HTTP field names that start with a letter. */
const NAME = /^[A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]{0,63}$/;

// Names that HTTP uses: a signature in such a header could break the request, be rewritten by a proxy, or lose repeated values.
const RESERVED = new Set(
  `accept accept-charset accept-encoding accept-language age allow authorization cache-control connection
   content-disposition content-encoding content-language content-length content-location content-md5 content-range
   content-type cookie date etag expect expires forwarded from host http2-settings if-match if-modified-since
   if-none-match if-range if-unmodified-since keep-alive last-modified link location max-forwards origin pragma
   proxy-authenticate proxy-authorization proxy-connection range referer retry-after server set-cookie te trailer
   transfer-encoding upgrade user-agent vary via warning www-authenticate x-forwarded-for x-forwarded-host
   x-forwarded-port x-forwarded-proto x-real-ip x-request-id constructor`.split(/\s+/),
);

/** Returns why a header cannot carry signatures, or undefined when it can. */
export function headerProblem(name: string): string | undefined {
  if (!NAME.test(name))
    return 'is not a header name; it must start with a letter and have at most 64 letters, digits and dashes';
  if (RESERVED.has(name.toLowerCase()))
    return `is reserved by HTTP (${name}); use a header for signatures, such as X-CRM-Signature`;
  return undefined;
}

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
