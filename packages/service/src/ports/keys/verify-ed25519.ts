import { verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { FastEd25519 } from './ed25519/fast-ed25519.ts';
import { rawEd25519 } from './read-public-key.ts';

export type Verify = (body: Uint8Array, signature: Uint8Array) => boolean;

/** How many accepted signatures there are for each one that OpenSSL looks at again, beginning with the first. */
const SECOND_OPINION = 256;
/** Keys that get a table at once, so that a flood of forged signatures after a start meets the fast engine already. */
const EAGER = 4;

/**
 * Makes verifiers for Ed25519 keys.
 *
 * A few keys get a table at once, others with their first good signature, which OpenSSL judges: keys that nobody signs with cost
 * nothing. With a table the fast engine judges, in a quarter of the time. OpenSSL stays at hand for a second opinion: should the two
 * ever disagree, the stricter answer counts and the fast engine is not used again.
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
    const atOnce = this.#fast !== undefined && (this.#fast.size < EAGER || this.#fast.knows(raw));
    let table = atOnce ? this.#prepare(raw) : undefined;
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
    // Under such a key signatures can be made up; none is ever registered.
    if (hasSmallOrder(raw)) return () => false;
    const prepared = fast?.prepare(raw);
    if (fast === undefined || prepared === undefined) return undefined;
    return (body, signature) => !hasSmallOrder(signature) && fast.verify(prepared, body, signature);
  }
}

/** Older OpenSSLs let an R of small order through, libsodium does not: the stricter answer holds for every engine. */
export function opensslVerifier(key: KeyObject): Verify {
  return (body, signature) => !hasSmallOrder(signature) && verify(null, body, key, signature);
}

/** Of a public key, or of the R that a signature begins with. */
function hasSmallOrder(bytes: Uint8Array): boolean {
  if (!FIRST_BYTES.has(bytes[0] ?? 0)) return false;
  return SMALL_ORDER.has(Buffer.from(bytes.subarray(0, 32)).toString('hex'));
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
