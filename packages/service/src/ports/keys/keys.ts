export type Scheme = 'Ed25519' | 'RSA-SHA256';

export const SCHEMES: readonly Scheme[] = ['Ed25519', 'RSA-SHA256'];

/** A public key that webhooks are verified with, ready for use. */
export interface TrustedKey {
  readonly id: string;
  readonly label: string;
  readonly scheme: Scheme;
  /** As it was registered; HTTP does not care for upper and lower case. */
  readonly header: string;
  /** SHA-256 of the SPKI, hex. */
  readonly fingerprint: string;
  /** The only locations this key may speak for, or null for all (S7). */
  readonly locations: ReadonlySet<string> | null;
  /** Every signature of this key has exactly this many bytes. */
  readonly signatureBytes: number;
  verify(body: Uint8Array, signature: Uint8Array): boolean;
}

/**
 * The keys in force on this node.
 *
 * - `headers` are the names to look for, in lower case, the one that counts first in front: a request is judged by the first of them
 *   that it carries and by no other. `x-crm-signature` always leads, even without a key, and `x-wh-signature` always comes last (S3, S4).
 * - `candidates` are the enabled keys under a header; empty for a header nobody registered.
 * - Both answer from memory. A change by the operator shows within five seconds on every node (S6); while the database is away
 *   the last known keys stay in force.
 */
export interface KeyRing {
  readonly headers: readonly string[];
  candidates(header: string): readonly TrustedKey[];
}

/** A key as the operator offers it. */
export interface OfferedKey {
  readonly label: string;
  readonly scheme: string;
  readonly header: string;
  /** PEM. */
  readonly publicKey: string;
  readonly locations?: readonly string[] | null | undefined;
}

/** A key as it is stored. */
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

export interface KeyRefusal {
  readonly field: 'label' | 'scheme' | 'header' | 'publicKey' | 'locations';
  /** What is wrong and what to do, ready to be shown. Never holds the key. */
  readonly reason: string;
}

export type AddOutcome =
  | { readonly kind: 'added'; readonly key: KeyRecord }
  | { readonly kind: 'refused'; readonly refusal: KeyRefusal }
  /** The same key stands under the same header already. */
  | { readonly kind: 'duplicate'; readonly key: KeyRecord };

/**
 * The operator's table of keys (S5, S6). Nothing is stored that could not verify a signature: `add` checks the key's real type against
 * its scheme first. Changes are durable when the call returns; telling the nodes is the caller's part. Rejects with EngineError
 * when the database is away.
 */
export interface CrmKeys {
  list(): Promise<KeyRecord[]>;
  add(offered: OfferedKey): Promise<AddOutcome>;
  /** undefined when there is no such key. */
  setEnabled(id: string, enabled: boolean): Promise<KeyRecord | undefined>;
  remove(id: string): Promise<KeyRecord | undefined>;
}
