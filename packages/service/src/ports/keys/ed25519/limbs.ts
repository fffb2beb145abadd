import { LIMBS, bitsOf } from './field.ts';

/** A number below 2^255 as ten limbs. */
export function limbsOf(value: bigint): number[] {
  return Array.from({ length: LIMBS }, (_, limb) =>
    Number((value >> BigInt(Math.ceil(25.5 * limb))) & (2n ** BigInt(bitsOf(limb)) - 1n)),
  );
}

/** The bytes of a reduced number, which may still be a little above the modulus. */
export function canonicalBytes(limbs: Uint32Array): Uint8Array {
  // What 19 more would carry out of the top is how often the modulus fits: never or once.
  let carry = 19;
  for (let limb = 0; limb < LIMBS; limb++) carry = ((limbs[limb] ?? 0) + carry) >>> bitsOf(limb);
  carry *= 19;
  const bytes = new Uint8Array(32);
  let pending = 0;
  let bits = 0;
  let filled = 0;
  for (let limb = 0; limb < LIMBS; limb++) {
    const size = bitsOf(limb);
    const value = (limbs[limb] ?? 0) + carry;
    carry = value >>> size;
    pending += (value & ((1 << size) - 1)) * 2 ** bits;
    for (bits += size; bits >= 8; bits -= 8) {
      bytes[filled++] = pending % 256;
      pending = Math.floor(pending / 256);
    }
  }
  bytes[filled] = pending;
  return bytes;
}
