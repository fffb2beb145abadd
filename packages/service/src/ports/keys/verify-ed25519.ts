import { verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { FastEd25519 } from './ed25519/fast-ed25519.ts';
import { rawEd25519 } from './read-public-key.ts';

export type Verify = (body: Uint8Array, signature: Uint8Array) => boolean;

/** How many accepted signatures there are for each one that OpenSSL looks at again. */
const SECOND_OPINION = 256;

/**
 * Makes verifiers for Ed25519 keys.
 *
 * OpenSSL judges the first signatures of a key. With the first good one the key gets a table, and from then on the fast engine
 * judges, in a quarter of the time; keys that nobody signs with cost nothing. OpenSSL stays at hand for a second opinion: should
 * the two ever disagree, the stricter answer counts and the fast engine is not used again.
 */
export class Ed25519Verifiers {
  #fast: FastEd25519 | undefined = fastEngine();
  readonly #disagree: () => void;

  constructor(disagree: () => void) {
    this.#disagree = disagree;
  }

  /** No room for another key's table. */
  get isFull(): boolean {
    return this.#fast?.isFull === true;
  }

  verifier(key: KeyObject): Verify {
    const openssl = opensslVerifier(key);
    const raw = rawEd25519(key);
    let table: Verify | undefined;
    let accepted = 0;
    return (body, signature) => {
      if (this.#fast === undefined || table === undefined) {
        const good = openssl(body, signature);
        if (good) table ??= this.#prepare(raw);
        return good;
      }
      if (!table(body, signature)) return false;
      if (accepted++ % SECOND_OPINION !== 0 || openssl(body, signature)) return true;
      this.#fast = undefined;
      this.#disagree();
      return false;
    };
  }

  #prepare(raw: Uint8Array): Verify | undefined {
    const fast = this.#fast;
    const prepared = fast?.prepare(raw);
    if (fast === undefined || prepared === undefined) return undefined;
    return (body, signature) => !hasSmallOrder(signature) && fast.verify(prepared, body, signature);
  }
}

/** Older OpenSSLs let an R of small order through, libsodium does not: the stricter answer holds for every engine. */
export function opensslVerifier(key: KeyObject): Verify {
  return (body, signature) => !hasSmallOrder(signature) && verify(null, body, key, signature);
}

function hasSmallOrder(signature: Uint8Array): boolean {
  if (!FIRST_BYTES.has(signature[0] ?? 0)) return false;
  return SMALL_ORDER.has(Buffer.from(signature.subarray(0, 32)).toString('hex'));
}

/** The eight points of small order. Other spellings of them need no entry: R is compared with the canonical one. */
const SMALL_ORDER = new Set([
  '0100000000000000000000000000000000000000000000000000000000000000',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  '0000000000000000000000000000000000000000000000000000000000000080',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
  '0000000000000000000000000000000000000000000000000000000000000000',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
]);
const FIRST_BYTES = new Set(Array.from(SMALL_ORDER, (point) => Number.parseInt(point.slice(0, 2), 16)));

function fastEngine(): FastEd25519 | undefined {
  try {
    return new FastEd25519();
  } catch {
    return undefined; // WebAssembly is switched off, for example by --jitless.
  }
}
