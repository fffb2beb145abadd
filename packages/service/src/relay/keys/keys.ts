import type { TimedPage } from '../../platform/timed-page.ts';

export type Scheme = 'Ed25519' | 'RSA-SHA256';

export const SCHEMES: readonly Scheme[] = ['Ed25519', 'RSA-SHA256'];

/** A public key that verifies webhook signatures. */
export interface TrustedKey {
  readonly id: string;
  readonly label: string;
  readonly scheme: Scheme;
  /** As registered. Header names are case-insensitive. */
  readonly header: string;
  /** SHA-256 of the SPKI, hex. */
  readonly fingerprint: string;
  /** The only locations that this key may sign for, or null for all (S7). */
  readonly locations: ReadonlySet<string> | null;
  /** The exact length of every signature of this key. */
  readonly signatureBytes: number;
  verify(body: Uint8Array, signature: Uint8Array): boolean;
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
}

/** A key as the operator submits it. */
export interface KeyInput {
  readonly label: string;
  readonly scheme: string;
  readonly header: string;
  /** PEM. */
  readonly publicKey: string;
  readonly locations?: readonly string[] | null | undefined;
}

/** A stored key. */
export interface KeyRecord {
  readonly id: string;
  readonly label: string;
  readonly scheme: Scheme;
  readonly header: string;
  readonly publicKey: string;
  readonly fingerprint: string;
  readonly locations: readonly string[] | null;
  readonly enabled: boolean;
  readonly createdAt: number;
}

export interface KeyProblem {
  readonly field: 'label' | 'scheme' | 'header' | 'publicKey' | 'locations';
  /** What is wrong and what to do, for display. Never contains the key. */
  readonly reason: string;
}

export type AddOutcome =
  | { readonly kind: 'added'; readonly key: KeyRecord }
  | { readonly kind: 'rejected'; readonly problem: KeyProblem }
  /** The same key is already registered for this header. */
  | { readonly kind: 'duplicate'; readonly key: KeyRecord };

/**
 * The operator's allowlist of keys (S5, S6).
 *
 * - `add` stores only keys that can verify a signature: it checks the real type of the key against its scheme.
 * - A change is durable when the call resolves. The caller announces it to the nodes.
 * - Every method rejects with EngineError when the database is unavailable.
 */
export interface CrmKeys {
  /** Lists all keys or a page of them, by their creation and id. */
  list(page?: TimedPage): Promise<KeyRecord[]>;
  add(input: KeyInput): Promise<AddOutcome>;
  /** Resolves with undefined when the key does not exist. */
  setEnabled(id: string, enabled: boolean): Promise<KeyRecord | undefined>;
  remove(id: string): Promise<KeyRecord | undefined>;
}
