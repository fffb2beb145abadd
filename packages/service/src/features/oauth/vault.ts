import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The row and column that a secret belongs to. A ciphertext copied to another place cannot be decrypted there. */
export interface Place {
  readonly kind: string;
  readonly owner: string;
  readonly field: string;
}

/** The length of the key id at the start of a sealed secret. */
export const KEY_ID_LENGTH = 8;

/**
 * Encrypts secrets at rest with AES-256-GCM, a fresh 96-bit nonce each and the place as associated data (O6).
 * The first key encrypts, all keys decrypt. To rotate, put a new key in front.
 */
export interface Vault {
  /** Returns `keyId.nonce.tag.data`. */
  seal(secret: string, place: Place): string;
  /** Whether the newest key has encrypted it. */
  isCurrent(sealed: string): boolean;
  /** Whether a configured key has encrypted it. The first `KEY_ID_LENGTH` characters are enough. */
  hasKeyOf(sealed: string): boolean;
  /** Returns undefined when no key decrypts it, or when it was sealed for another place. */
  open(sealed: string, place: Place): string | undefined;
}

export function createVault(keys: readonly Uint8Array[]): Vault {
  const ring = keys.map((key) => {
    if (key.length !== 32) throw new RangeError(`an encryption key must be 32 bytes, not ${key.length}`);
    return { id: createHash('sha256').update(key).digest('hex').slice(0, KEY_ID_LENGTH), key };
  });
  const [newest] = ring;

  return {
    seal(secret, place) {
      if (newest === undefined) throw new RangeError('no encryption key is configured');
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, newest.key, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(associated(place, newest.id));
      const data = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return [
        newest.id,
        ...[nonce, cipher.getAuthTag(), data].map((part) => part.toString('base64url')),
      ].join('.');
    },
    isCurrent: (sealed) => newest !== undefined && sealed.startsWith(`${newest.id}.`),
    hasKeyOf: (sealed) => ring.some(({ id }) => id === sealed.slice(0, KEY_ID_LENGTH)),
    open(sealed, place) {
      const [keyId, ...parts] = sealed.split('.');
      const [nonce, tag, data] = parts.map((part) => Buffer.from(part, 'base64url'));
      const known = ring.find(({ id }) => id === keyId);
      if (known === undefined || parts.length !== 3 || data === undefined) return undefined;
      if (nonce?.length !== NONCE_BYTES || tag?.length !== TAG_BYTES) return undefined;
      const decipher = createDecipheriv(CIPHER, known.key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(associated(place, known.id)).setAuthTag(tag);
      try {
        return Buffer.concat([decipher.update(data), decipher.final()]).toString('utf8');
      } catch {
        return undefined;
      }
    },
  };
}

// Unambiguous: of the four parts only the owner can contain a bar.
const associated = ({ kind, owner, field }: Place, keyId: string) =>
  Buffer.from(`${kind}|${owner}|${field}|${keyId}`, 'utf8');
