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
