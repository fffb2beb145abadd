import { createCipheriv, createDecipheriv } from 'node:crypto';

import type Sodium from 'sodium-native';

/** Sizes in bytes. */
export const NONCE = 12;
export const TAG = 16;

export interface SealedParts {
  readonly nonce: Buffer;
  readonly tag: Buffer;
  readonly data: Buffer;
}

export const partsOf = (sealed: Buffer): SealedParts => ({
  nonce: sealed.subarray(0, NONCE),
  tag: sealed.subarray(NONCE, NONCE + TAG),
  data: sealed.subarray(NONCE + TAG),
});

/** ChaCha20-Poly1305 (RFC 8439). `open` throws when the tag does not verify under this key. */
export interface Box {
  seal(into: SealedParts, plain: Buffer): void;
  open(sealed: SealedParts): Buffer;
}

/**
 * Both libraries produce the same format. libsodium costs a quarter of OpenSSL, which allocates two objects per message: a message over two
 * nodes costs 1.25 instead of 1.37 × a local one (docs/experiments.md).
 */
export const createBox = (key: Buffer, library: typeof Sodium | null): Box =>
  library === null ? opensslBox(key) : sodiumBox(library, key);

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
