import type { Point } from '../edwards25519.ts';
import { LIMBS, PAIR_BYTES, SINGLE_BYTES } from './field.ts';
import { limbsOf } from './limbs.ts';
import { STEP_BYTES, SUM } from './walk.ts';
import type { Workbench } from './workbench.ts';

/** Digits of six bits from −31 to 32; 43 of them hold every number below 2^253. */
const DIGIT_BITS = 6;
const LARGEST = 2 ** (DIGIT_BITS - 1);
export const DIGITS = 43;

/** y + x, y − x, 2dxy and −2dxy of one point. */
const ENTRY_BYTES = 4 * SINGLE_BYTES;
const WINDOW_BYTES = (LARGEST + 1) * ENTRY_BYTES;
export const TABLE_BYTES = DIGITS * WINDOW_BYTES;

const P = 2n ** 255n - 19n;
export const TWICE_D =
  (2n * 37095705934669439343138083508754565189542113879843219016388785533085940283555n) % P;

/** Writes tables: d × 64^w × point for every window w and every digit d from 0 to 32. One takes a few milliseconds. */
export class TableWriter {
  readonly #bench: Workbench;
  readonly #twiceD: number;
  readonly #zero: number;
  readonly #step: number;
  readonly #current: number;
  /** X, Y and Z of the multiples 1 … 32 and 64 of a window's point, the products of their Zs, and what divides by them. */
  readonly #multiples: readonly number[];
  readonly #products: readonly number[];
  readonly #rest: number;
  readonly #scale: number;
  readonly #x: number;
  readonly #y: number;
  readonly #t: number;

  static readonly BYTES = (LARGEST + 1) * 4 * PAIR_BYTES + 8 * PAIR_BYTES + STEP_BYTES + ENTRY_BYTES;

  constructor(bench: Workbench) {
    this.#bench = bench;
    this.#step = bench.take(STEP_BYTES);
    this.#current = bench.take(ENTRY_BYTES);
    this.#multiples = Array.from({ length: LARGEST + 1 }, () => bench.take(3 * PAIR_BYTES));
    this.#products = this.#multiples.map(() => bench.pair());
    this.#twiceD = bench.pair();
    this.#zero = bench.pair();
    this.#rest = bench.pair();
    this.#scale = bench.pair();
    this.#x = bench.pair();
    this.#y = bench.pair();
    this.#t = bench.pair();
    bench.put(this.#twiceD, limbsOf(TWICE_D));
    const { plus, minus, t } = partsOf(this.#current);
    bench.view(this.#step, STEP_BYTES).set([plus, minus, t, plus, minus, t]);
  }

  write(table: number, { x, y }: Point): void {
    this.#bench.put(this.#x, limbsOf(x));
    this.#bench.put(this.#y, limbsOf(y));
    this.#writeEntry(this.#current);
    for (let window = 0; window < DIGITS; window++) this.#writeWindow(table + window * WINDOW_BYTES);
  }

  /** Walks from one multiple of the current point to the next, up to the 64th, which is the point of the window that follows. */
  #writeWindow(window: number): void {
    const { words, run } = this.#bench;
    this.#bench.beginWalk();
    words.set(NEUTRAL_ENTRY, window / 4);
    for (let multiple = 1; multiple <= 2 * LARGEST; multiple++) {
      run.walk(this.#step, 1);
      const kept = this.#multiples[multiple === 2 * LARGEST ? LARGEST : multiple - 1];
      if (kept !== undefined) words.copyWithin(kept / 4, SUM.x / 4, SUM.t / 4);
    }
    this.#eachAffine((multiple) => {
      this.#writeEntry(multiple > LARGEST ? this.#current : window + multiple * ENTRY_BYTES);
    });
  }

  /** Divides all multiples by their Z with a single inversion, the last one first (Montgomery's trick). */
  #eachAffine(use: (multiple: number) => void): void {
    const { run } = this.#bench;
    const z = (at: number) => (this.#multiples[at] ?? 0) + 2 * PAIR_BYTES;
    const product = (at: number) => this.#products[at] ?? 0;
    run.add(product(0), z(0), this.#zero);
    for (let at = 1; at <= LARGEST; at++) run.multiply(product(at), product(at - 1), z(at));
    this.#bench.invert(this.#rest, product(LARGEST));
    for (let at = LARGEST; at >= 0; at--) {
      const point = this.#multiples[at] ?? 0;
      if (at > 0) run.multiply(this.#scale, this.#rest, product(at - 1));
      else run.add(this.#scale, this.#rest, this.#zero);
      run.multiply(this.#rest, this.#rest, z(at));
      run.multiply(this.#x, point, this.#scale);
      run.multiply(this.#y, point + PAIR_BYTES, this.#scale);
      use(at + 1);
    }
  }

  /** Of the affine point in x and y. Sums and differences stay unreduced: as second factors they may be. */
  #writeEntry(entry: number): void {
    const { run } = this.#bench;
    const { plus, minus, t, minusT } = partsOf(entry);
    run.multiply(this.#t, this.#x, this.#y);
    run.multiply(this.#t, this.#t, this.#twiceD);
    this.#bench.firstToSingle(this.#t, t);
    run.subtract(this.#t, this.#zero, this.#t);
    this.#bench.firstToSingle(this.#t, minusT);
    run.add(this.#t, this.#y, this.#x);
    this.#bench.firstToSingle(this.#t, plus);
    run.subtract(this.#t, this.#y, this.#x);
    this.#bench.firstToSingle(this.#t, minus);
  }
}

const partsOf = (entry: number) => ({
  plus: entry,
  minus: entry + SINGLE_BYTES,
  t: entry + 2 * SINGLE_BYTES,
  minusT: entry + 3 * SINGLE_BYTES,
});

/** Of the neutral point: 1, 1, 0, 0. */
const NEUTRAL_ENTRY = Uint32Array.from({ length: 4 * LIMBS }, (_, word) =>
  word === 0 || word === LIMBS ? 1 : 0,
);

/**
 * The way through a table for a number of 32 bytes, least first: one step per digit. A negative digit stands for the opposite
 * point, which has y + x and y − x exchanged and 2dxy negated.
 */
export function writeSteps(steps: Uint32Array, lane: 0 | 1, value: Uint8Array, table: number): void {
  let carry = 0;
  for (let window = 0; window < DIGITS; window++) {
    const bit = window * DIGIT_BITS;
    const bytes = (value[bit >> 3] ?? 0) | ((value[(bit >> 3) + 1] ?? 0) << 8);
    let digit = ((bytes >> (bit & 7)) & 63) + carry;
    carry = digit > LARGEST ? 1 : 0;
    digit -= carry << DIGIT_BITS;
    const entry = table + window * WINDOW_BYTES + Math.abs(digit) * ENTRY_BYTES;
    const at = (window * STEP_BYTES) / 4 + lane * 3;
    steps[at] = digit < 0 ? entry + SINGLE_BYTES : entry;
    steps[at + 1] = digit < 0 ? entry : entry + SINGLE_BYTES;
    steps[at + 2] = entry + (digit < 0 ? 3 : 2) * SINGLE_BYTES;
  }
}
