import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

import type Sodium from 'sodium-native';

import { sodium } from '../../sodium.ts';
import type { CutReason, LineFrame, Occupant } from './switchboard.ts';

/** A frame for the Mac of a location, to the node that holds its socket. */
export interface Ask {
  readonly type: 'ask';
  readonly id: string;
  readonly from: string;
  readonly locationId: string;
  readonly epoch: number;
  /** In Redis's time: later than this nobody waits for the answer any more. */
  readonly notAfter: number;
  readonly frame: LineFrame;
}

/** That line lost the location. */
export interface Cut {
  readonly type: 'cut';
  readonly locationId: string;
  readonly sessionId: string;
  readonly reason: CutReason;
}

/** What nodes say to each other. */
export type BusMessage =
  | Ask
  | Cut
  | { readonly type: 'answer'; readonly id: string; readonly outcome: AskOutcome }
  | { readonly type: 'forgotten'; readonly from: string }
  | { readonly type: 'who'; readonly id: string; readonly from: string }
  | { readonly type: 'here'; readonly id: string; readonly occupants: Occupant[] };

/** `soon`: Redis had forgotten the lease, and somebody with a newer one may still show up. */
export type AskOutcome = 'written' | 'stale' | 'overloaded' | 'soon';

const NONCE = 12;
const PREFIX = 8;
const TAG = 16;

export interface BusCipher {
  seal(message: BusMessage): Buffer;
  /** Undefined for whatever was not sealed with the same secret. */
  open(sealed: Buffer): BusMessage | undefined;
}

/** Bus messages carry texts and phone numbers, and whoever can publish could send in a CRM's name: they are encrypted and authenticated by the node secret. */
export function createBusCipher(nodeSecret: string, library = sodium): BusCipher {
  const key = Buffer.from(hkdfSync('sha256', nodeSecret, 'footbridge', 'bus v2', 32));
  const box = library === null ? opensslBox(key) : sodiumBox(library, key);
  const nextNonce = nonces();
  return {
    seal(message) {
      const plain = Buffer.from(JSON.stringify(message));
      const sealed = Buffer.allocUnsafe(NONCE + TAG + plain.length);
      nextNonce().copy(sealed);
      box.seal(partsOf(sealed), plain);
      return sealed;
    },
    open(sealed) {
      if (sealed.length < NONCE + TAG) return undefined;
      try {
        return JSON.parse(box.open(partsOf(sealed)).toString()) as BusMessage;
      } catch {
        return undefined;
      }
    },
  };
}

interface Parts {
  readonly nonce: Buffer;
  readonly tag: Buffer;
  readonly data: Buffer;
}

const partsOf = (sealed: Buffer): Parts => ({
  nonce: sealed.subarray(0, NONCE),
  tag: sealed.subarray(NONCE, NONCE + TAG),
  data: sealed.subarray(NONCE + TAG),
});

/** ChaCha20-Poly1305 (RFC 8439). What one engine seals the other opens; `open` throws when it was not sealed with this key. */
interface Box {
  seal(into: Parts, plain: Buffer): void;
  open(sealed: Parts): Buffer;
}

/** A quarter of what OpenSSL's two objects per message cost. */
function sodiumBox(library: typeof Sodium, key: Buffer): Box {
  return {
    seal({ nonce, tag, data }, plain) {
      library.crypto_aead_chacha20poly1305_ietf_encrypt_detached(data, tag, plain, null, null, nonce, key);
    },
    open({ nonce, tag, data }) {
      const plain = Buffer.allocUnsafe(data.length);
      library.crypto_aead_chacha20poly1305_ietf_decrypt_detached(plain, null, data, tag, null, nonce, key);
      return plain;
    },
  };
}

function opensslBox(key: Buffer): Box {
  const options = { authTagLength: TAG };
  return {
    seal({ nonce, tag, data }, plain) {
      const cipher = createCipheriv('chacha20-poly1305', key, nonce, options);
      cipher.update(plain).copy(data);
      cipher.final();
      cipher.getAuthTag().copy(tag);
    },
    open({ nonce, tag, data }) {
      const decipher = createDecipheriv('chacha20-poly1305', key, nonce, options);
      decipher.setAuthTag(tag);
      return Buffer.concat([decipher.update(data), decipher.final()]);
    },
  };
}

/** Never the same twice under one key: a random number for this process, and a count within it. */
function nonces(): () => Buffer {
  let prefix = randomBytes(PREFIX);
  let count = 0;
  return () => {
    if (count === 2 ** 32) {
      prefix = randomBytes(PREFIX);
      count = 0;
    }
    const nonce = Buffer.allocUnsafe(NONCE);
    prefix.copy(nonce);
    nonce.writeUInt32BE(count++, PREFIX);
    return nonce;
  };
}
