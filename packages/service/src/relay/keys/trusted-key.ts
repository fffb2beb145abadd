import { verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import type { KeyRecord, TrustedKey } from './keys.ts';
import { storedPublicKey } from './read-public-key.ts';
import { ed25519Verifier } from './verify-ed25519.ts';

/** Parses a stored key once and binds it to its scheme. */
export function trustedKey(record: KeyRecord): TrustedKey {
  const { key } = storedPublicKey(record.publicKey);
  return {
    id: record.id,
    label: record.label,
    scheme: record.scheme,
    header: record.header,
    fingerprint: record.fingerprint,
    locations: record.locations === null ? null : new Set(record.locations),
    ...(record.scheme === 'Ed25519'
      ? { signatureBytes: 64, verify: ed25519Verifier(key) }
      : {
          signatureBytes: rsaBytes(key),
          verify: (body, signature) => verify('sha256', body, key, signature),
        }),
  };
}

const rsaBytes = (key: KeyObject): number => Math.ceil((key.asymmetricKeyDetails?.modulusLength ?? 0) / 8);
