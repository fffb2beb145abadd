import { LIMBS, PAIR_BYTES } from './field.ts';
import { FREE, SUM, createArithmetic } from './walk.ts';
import type { Arithmetic } from './walk.ts';

const INVERSION = ['p2', 'p9', 'p11', 'p31', 'p10', 'p50', 'p100'] as const;
const at = Object.fromEntries(INVERSION.map((name, slot) => [name, FREE + slot * PAIR_BYTES])) as Record<
  (typeof INVERSION)[number],
  number
>;

/** Memory with named places: pairs to calculate with, and room for whatever else its user keeps there. */
export class Workbench {
  readonly run: Arithmetic;
  readonly words: Uint32Array<ArrayBuffer>;
  #taken = FREE + INVERSION.length * PAIR_BYTES;

  constructor(bytes: number) {
    this.run = createArithmetic(FREE + bytes);
    this.words = new Uint32Array(this.run.memory.buffer);
  }

  /** Room that nobody else has. */
  take(bytes: number): number {
    const offset = this.#taken;
    this.#taken += bytes;
    return offset;
  }

  pair(): number {
    return this.take(PAIR_BYTES);
  }

  view(offset: number, bytes: number): Uint32Array<ArrayBuffer> {
    return this.words.subarray(offset / 4, (offset + bytes) / 4);
  }

  /** Puts a number into both lanes of a pair. */
  put(pair: number, limbs: readonly number[]): void {
    for (const [limb, value] of limbs.entries())
      this.words.fill(value, pair / 4 + 2 * limb, pair / 4 + 2 * limb + 2);
  }

  /** The first number of a pair. */
  first(pair: number): Uint32Array {
    return Uint32Array.from({ length: LIMBS }, (_, limb) => this.words[pair / 4 + 2 * limb] ?? 0);
  }

  /** Writes the first number of a pair as a single number. */
  firstToSingle(pair: number, single: number): void {
    for (let limb = 0; limb < LIMBS; limb++)
      this.words[single / 4 + limb] = this.words[pair / 4 + 2 * limb] ?? 0;
  }

  /** Makes the second number of a pair the first one of another. */
  secondToFirst(from: number, to: number): void {
    for (let limb = 0; limb < LIMBS; limb++)
      this.words[to / 4 + 2 * limb] = this.words[from / 4 + 2 * limb + 1] ?? 0;
  }

  /** Makes both sums of a walk the neutral point: X = 0, Y = 1, Z = 1, T = 0. */
  beginWalk(): void {
    this.words.set(NEUTRAL, SUM.x / 4);
  }

  /** target = z^(2^255 − 21) = 1/z, by the usual chain of 254 squares and 11 products. `target` must not be `z`. */
  invert(target: number, z: number): void {
    const { multiply, square, squareAgain } = this.run;
    const squares = (into: number, from: number, times: number) => {
      square(into, from);
      if (times > 1) squareAgain(into, times - 1);
    };
    squares(at.p2, z, 1);
    squares(at.p9, at.p2, 2);
    multiply(at.p9, at.p9, z);
    multiply(at.p11, at.p9, at.p2);
    squares(at.p31, at.p11, 1);
    multiply(at.p31, at.p31, at.p9);
    squares(at.p10, at.p31, 5);
    multiply(at.p10, at.p10, at.p31);
    squares(at.p50, at.p10, 10);
    multiply(at.p50, at.p50, at.p10);
    squares(at.p100, at.p50, 20);
    multiply(at.p100, at.p100, at.p50);
    squares(at.p100, at.p100, 10);
    multiply(at.p50, at.p100, at.p10);
    squares(at.p100, at.p50, 50);
    multiply(at.p100, at.p100, at.p50);
    squares(target, at.p100, 100);
    multiply(target, target, at.p100);
    squares(target, target, 50);
    multiply(target, target, at.p50);
    squares(target, target, 5);
    multiply(target, target, at.p11);
  }
}

const NEUTRAL = ((): Uint32Array => {
  const words = new Uint32Array(PAIR_BYTES);
  for (const coordinate of [SUM.y, SUM.z]) words.fill(1, coordinate / 4, coordinate / 4 + 2);
  return words;
})();
