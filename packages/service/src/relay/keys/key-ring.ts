import { verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import type Sodium from 'sodium-native';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import { RecentCache } from '../../platform/recent-cache.ts';
import { sodium } from '../../platform/sodium.ts';
import { hasSmallOrder } from './ed25519-point.ts';
import { rawEd25519, storedPublicKey } from './read-public-key.ts';
import type { KeyRecord, TrustedKey } from './keys.ts';
import type { CrmKeys } from './keys-sql.ts';

export type Verify = (body: Uint8Array, signature: Uint8Array) => boolean;

/** Verifies with libsodium, or with OpenSSL where libsodium has no binary. Both accept the same signatures. */
export function ed25519Verifier(key: KeyObject): Verify {
  return sodium === null ? opensslVerifier(key) : sodiumVerifier(sodium, key);
}

function sodiumVerifier(library: typeof Sodium, key: KeyObject): Verify {
  const raw = rawEd25519(key);
  return (body, signature) => library.crypto_sign_verify_detached(signature, body, raw);
}

/** Older OpenSSL versions accept an R of small order. libsodium does not, so it is rejected here too. */
export function opensslVerifier(key: KeyObject): Verify {
  return (body, signature) => !hasSmallOrder(signature) && verify(null, body, key, signature);
}

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

export interface KeyRingDeps {
  readonly stored: Pick<CrmKeys, 'list'>;
  /** Returns the keys of the settings, which are always in use. */
  readonly fixed: () => readonly KeyRecord[];
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The keys that this node accepts.
 *
 * - `headers` are the signature headers in lower case, in order of precedence: a request is verified by the first of them that it
 *   carries, and by no other. `x-crm-signature` is always first, even without a key, and `x-wh-signature` always last (S3, S4).
 * - `candidates` returns the enabled keys of a header, and an empty list for an unknown header.
 * - Both read from memory. A change by the operator takes effect on every node within five seconds (S6). While the database is
 *   unavailable, the last known keys stay in use.
 */
export interface KeyRing {
  readonly headers: readonly string[];
  candidates(header: string): readonly TrustedKey[];
  /** A key has verified a request. */
  used(key: TrustedKey): void;
  /** Returns when a key last verified a request on this node. */
  lastUsed(id: string): number | undefined;
  readonly size: number;
  /** Reads the keys again. Never rejects: when that fails, the known keys stay in use and the read is retried every second. */
  reload(): Promise<void>;
  close(): void;
}

const CURRENT = 'x-crm-signature';
const LEGACY = 'x-wh-signature';
const RETRY_MS = 1000;
const KEPT_USES = 1000;

/** Rejects when the table cannot be read: a node without its keys would reject valid webhooks. */
export async function openKeyRing(deps: KeyRingDeps): Promise<KeyRing> {
  const { stored, fixed, clock, log } = deps;
  let ring = arrange([]);
  let reading: Promise<void> | undefined;
  let again = false;
  let cancelRetry = () => {};
  let closed = false;
  const uses = new RecentCache<string, number>(KEPT_USES);

  async function read(): Promise<void> {
    const records = [...fixed(), ...(await stored.list())];
    ring = arrange(records.filter(({ enabled }) => enabled).flatMap((record) => usable(record, log)));
  }

  async function readUntilCurrent(): Promise<void> {
    do {
      again = false;
      try {
        await read();
      } catch (error) {
        log.warn({ event: 'keys.read_failed', err: error }, 'CRM keys not readable; known keys stay in use');
        if (!closed) cancelRetry = clock.after(RETRY_MS, () => void reload());
      }
    } while (again);
    reading = undefined;
  }

  /** A call during a read causes one more read: the first may have missed the change. */
  function reload(): Promise<void> {
    cancelRetry();
    if (reading === undefined) reading = readUntilCurrent();
    else again = true;
    return reading;
  }

  await read();
  return {
    get headers() {
      return ring.headers;
    },
    get size() {
      return ring.size;
    },
    candidates: (header) => ring.byHeader.get(header) ?? NONE,
    used: ({ id }) => uses.set(id, clock.now()),
    lastUsed: (id) => uses.get(id),
    reload,
    close() {
      closed = true;
      cancelRetry();
    },
  };
}

const NONE: readonly TrustedKey[] = [];

function usable(record: KeyRecord, log: Log): TrustedKey[] {
  try {
    return [trustedKey(record)];
  } catch (error) {
    log.error(
      { event: 'keys.key_unusable', keyId: record.id, err: error },
      'stored CRM key unusable; remove it and add it again',
    );
    return [];
  }
}

function arrange(keys: readonly TrustedKey[]) {
  const byHeader = Map.groupBy(keys, ({ header }) => header.toLowerCase());
  const rank = (header: string): number => {
    if (header === CURRENT) return 0;
    if (header === LEGACY) return 3;
    return byHeader.get(header)?.some(({ scheme }) => scheme === 'Ed25519') ? 1 : 2;
  };
  const headers = [...new Set([CURRENT, ...byHeader.keys()])].sort(
    (left, right) => rank(left) - rank(right) || (left < right ? -1 : 1),
  );
  return { headers, byHeader, size: keys.length };
}
