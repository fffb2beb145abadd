import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { addPoints, decodePoint, encodePoint, multiplyPoint } from '../edwards25519.ts';
import { LIMBS, PAIR_BYTES, SINGLE_BYTES, bitsOf } from './field.ts';
import { canonicalBytes, limbsOf } from './limbs.ts';
import { DIGITS, TABLE_BYTES, TWICE_D, TableWriter, writeSteps } from './table.ts';
import { STEP_BYTES } from './walk.ts';
import { Workbench } from './workbench.ts';

const P = 2n ** 255n - 19n;
const weight = (limb: number) => 2n ** BigInt(Math.ceil(25.5 * limb));
const valueOf = (limbs: Iterable<number>) =>
  [...limbs].reduce((sum, limb, at) => sum + BigInt(limb) * weight(at), 0n);
const modulo = (value: bigint) => ((value % P) + P) % P;

const bench = new Workbench(65_536 + TableWriter.BYTES + TABLE_BYTES);
const [left, right, result] = [bench.pair(), bench.pair(), bench.pair()];

function put(pair: number, first: readonly number[], second: readonly number[]): void {
  for (let limb = 0; limb < LIMBS; limb++) {
    bench.words[pair / 4 + 2 * limb] = first[limb] ?? 0;
    bench.words[pair / 4 + 2 * limb + 1] = second[limb] ?? 0;
  }
}
const limbsAt = (pair: number, lane: 0 | 1) =>
  Array.from({ length: LIMBS }, (_, limb) => bench.words[pair / 4 + 2 * limb + lane] ?? 0);
const at = (pair: number, lane: 0 | 1) => valueOf(limbsAt(pair, lane));

/** Limbs up to `factor` times their size, the largest ones often. */
const limbsUpTo = (factor: number) =>
  fc.tuple(
    ...Array.from({ length: LIMBS }, (_, limb) => {
      const most = Math.floor(2 ** bitsOf(limb) * factor);
      return fc.oneof(fc.constant(most), fc.constant(0), fc.integer({ min: 0, max: most }));
    }),
  );
const isReduced = (limbs: readonly number[]) =>
  limbs.every((value, limb) => value < (limb % 2 === 0 ? 2 ** 26 : 2 ** 25 + 2 ** 18));

const FIRST = 2 ** 2.1;
const SECOND = 2 ** 1.7;

describe('arithmetic on pairs', () => {
  it('multiplies whatever the bounds allow, and reduces', () => {
    fc.assert(
      fc.property(limbsUpTo(FIRST), limbsUpTo(FIRST), limbsUpTo(SECOND), limbsUpTo(SECOND), (a, b, c, d) => {
        put(left, a, b);
        put(right, c, d);
        bench.run.multiply(result, left, right);
        expect(modulo(at(result, 0))).toBe(modulo(valueOf(a) * valueOf(c)));
        expect(modulo(at(result, 1))).toBe(modulo(valueOf(b) * valueOf(d)));
        expect(isReduced(limbsAt(result, 0)) && isReduced(limbsAt(result, 1))).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('multiplies the largest factors of all', () => {
    const most = (factor: number) =>
      Array.from({ length: LIMBS }, (_, limb) => Math.floor(2 ** bitsOf(limb) * factor));
    put(left, most(FIRST), most(FIRST));
    put(right, most(SECOND), most(SECOND));
    bench.run.multiply(result, left, right);
    expect(modulo(at(result, 0))).toBe(modulo(valueOf(most(FIRST)) * valueOf(most(SECOND))));
  });

  const reduced = limbsUpTo(1 + 2 ** -8).map((limbs) =>
    limbs.map((value, limb) => Math.min(value, limb % 2 === 0 ? 2 ** 26 - 1 : 2 ** 25 + 2 ** 18 - 1)),
  );

  it('squares, once and again', () => {
    fc.assert(
      fc.property(reduced, reduced, fc.integer({ min: 1, max: 5 }), (a, b, times) => {
        put(left, a, b);
        bench.run.square(result, left);
        expect(modulo(at(result, 0))).toBe(modulo(valueOf(a) ** 2n));
        expect(modulo(at(result, 1))).toBe(modulo(valueOf(b) ** 2n));
        expect(isReduced(limbsAt(result, 0))).toBe(true);
        bench.run.squareAgain(result, times);
        expect(modulo(at(result, 0))).toBe(modulo(valueOf(a) ** (2n ** BigInt(times + 1))));
      }),
      { numRuns: 500 },
    );
  });

  it('adds and subtracts, within what may be a factor', () => {
    fc.assert(
      fc.property(reduced, reduced, (a, b) => {
        put(left, a, a);
        put(right, b, b);
        bench.run.add(result, left, right);
        expect(at(result, 1)).toBe(valueOf(a) + valueOf(b));
        bench.run.subtract(result, left, right);
        expect(modulo(at(result, 1))).toBe(modulo(valueOf(a) - valueOf(b)));
        limbsAt(result, 0).forEach((value, limb) => expect(value).toBeLessThan(2 ** bitsOf(limb) * SECOND));
      }),
      { numRuns: 500 },
    );
  });

  it('inverts', () => {
    for (const value of [1n, 2n, P - 1n, 19n, TWICE_D, 2n ** 254n]) {
      bench.put(left, limbsOf(value));
      bench.invert(result, left);
      expect(modulo(at(result, 0) * value)).toBe(1n);
    }
  });
});

describe('numbers as bytes', () => {
  const bytesOf = (value: bigint) => Buffer.from(value.toString(16).padStart(64, '0'), 'hex').toReversed();

  it('are canonical, also of numbers above the modulus', () => {
    const edges = [0n, 1n, 18n, 19n, P - 20n, P - 1n];
    for (const value of edges) {
      expect(canonicalBytes(Uint32Array.from(limbsOf(value)))).toEqual(Uint8Array.from(bytesOf(value)));
      if (value + P < 2n ** 255n)
        expect(canonicalBytes(Uint32Array.from(limbsOf(value + P)))).toEqual(Uint8Array.from(bytesOf(value)));
    }
  });

  it('of whatever a product leaves', () => {
    fc.assert(
      fc.property(limbsUpTo(FIRST), limbsUpTo(SECOND), (a, b) => {
        put(left, a, a);
        put(right, b, b);
        bench.run.multiply(result, left, right);
        const expected = bytesOf(modulo(valueOf(a) * valueOf(b)));
        expect(canonicalBytes(bench.first(result))).toEqual(Uint8Array.from(expected));
      }),
      { numRuns: 1000 },
    );
  });
});

describe('tables', () => {
  const base = decodePoint(Uint8Array.from({ length: 32 }, (_, byte) => (byte === 0 ? 0x58 : 0x66)));
  if (base === undefined) throw new Error('no base');
  const writer = new TableWriter(bench);
  const table = bench.take(TABLE_BYTES);
  const steps = new Uint32Array((DIGITS * STEP_BYTES) / 4);
  writer.write(table, base);
  const single = (offset: number) => modulo(valueOf(bench.view(offset, SINGLE_BYTES)));

  /** The point that a step adds, read back from its parts. */
  function pointOf(step: number) {
    const [plus = 0, minus = 0, t = 0] = steps.subarray(step * 6, step * 6 + 3);
    const half = (P + 1n) / 2n;
    const y = modulo((single(plus) + single(minus)) * half);
    const x = modulo((single(plus) - single(minus)) * half);
    expect(single(t)).toBe(modulo(x * y * TWICE_D));
    return { x, y, z: 1n, t: modulo(x * y) };
  }

  it('lead any number to its multiple of the point', () => {
    const numbers = fc.bigInt({ min: 0n, max: 2n ** 253n - 1n });
    fc.assert(
      fc.property(
        fc.oneof(numbers, fc.constantFrom(0n, 1n, 32n, 33n, 2n ** 252n, 2n ** 253n - 1n)),
        (number) => {
          const bytes = Buffer.from(number.toString(16).padStart(64, '0'), 'hex').toReversed();
          writeSteps(steps, 0, bytes, table);
          let sum = multiplyPoint(base, 0n);
          for (let step = 0; step < DIGITS; step++) sum = addPoints(sum, pointOf(step));
          expect(encodePoint(sum)).toEqual(encodePoint(multiplyPoint(base, number)));
        },
      ),
      { numRuns: 15 },
    );
  });

  it('lie apart from what pairs are calculated with', () => {
    expect(table % 4).toBe(0);
    expect(table).toBeGreaterThan(result + PAIR_BYTES);
  });
});
