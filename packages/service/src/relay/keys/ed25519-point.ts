import { sodium } from '../../platform/sodium.ts';

/** The eight points of small order, in hex. Any signature verifies under some of them. */
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

const POINT_BYTES = 32;

/** Whether the first 32 bytes are the canonical encoding of a point of small order. */
export function hasSmallOrder(bytes: Uint8Array): boolean {
  return SMALL_ORDER.has(Buffer.from(bytes.buffer, bytes.byteOffset, POINT_BYTES).toString('hex'));
}

/** Whether key generation can produce this public key: canonical encoding, main subgroup, not of small order. */
export function isValidPublicKey(bytes: Uint8Array): boolean {
  return isPlausiblePoint(bytes) && sodium?.crypto_core_ed25519_is_valid_point(bytes) !== false;
}

/** The check without libsodium. It does not detect a component outside the main subgroup, which no key generator produces. */
export function isPlausiblePoint(bytes: Uint8Array): boolean {
  return bytes.length === POINT_BYTES && isCanonical(bytes) && !hasSmallOrder(bytes);
}

/** The y coordinate, little-endian without the sign bit, is below 2^255 − 19. */
function isCanonical(bytes: Uint8Array): boolean {
  const [lowest = 0, ...higher] = bytes;
  const highest = (higher.pop() ?? 0) & 0x7f;
  return lowest < 0xed || highest !== 0x7f || higher.some((byte) => byte !== 0xff);
}
