import * as w from './wasm-module.ts';
import type { Code, Func } from './wasm-module.ts';

/**
 * Numbers modulo 2^255 − 19, two at a time: every vector holds the same limb of two unrelated numbers, and every
 * operation does the same to both.
 *
 * A number is ten limbs of 26, 25, 26, 25 … bits, least first, so that limb i weighs 2^⌈25.5 i⌉. A *reduced* limb is below 2^26
 * (even) or 2^25 + 2^18 (odd); products and squares are reduced. Sums and differences of reduced numbers are below 2^27.6 and 2^26.6,
 * and may be factors as they are: the second factor must stay below 2^27.7, because 19 times it must fit 32 bits, and the first
 * below 2^28.1, because ten of the largest products must fit 64 bits.
 */
export const LIMBS = 10;
/** Of a pair in memory: limb by limb, first number, second number. */
export const PAIR_BYTES = 8 * LIMBS;
/** Of a single number in memory. */
export const SINGLE_BYTES = 4 * LIMBS;

export const bitsOf = (limb: number): number => (limb % 2 === 0 ? 26 : 25);
const limbs = Array.from({ length: LIMBS }, (_, at) => at);
const isOdd = (limb: number) => limb % 2 === 1;

/** 2 (2^255 − 19) spread over the limbs: added before a subtraction, it keeps every limb positive. */
const twiceModulus = (limb: number) => 2 ** (bitsOf(limb) + 1) - (limb === 0 ? 38 : 2);

const TARGET = 0;
const LEFT = 1;
const RIGHT = 2;

function elementwise(name: string, of: (limb: number) => Code): Func {
  const code = limbs.flatMap((limb) => [...w.get(TARGET), ...of(limb), ...w.storePair(8 * limb)]);
  return { name, parameters: 3, locals: [], code };
}

const operand = (parameter: number, limb: number): Code => [...w.get(parameter), ...w.loadPair(8 * limb)];

/** `add(target, left, right)` */
const add = elementwise('add', (limb) => [...operand(LEFT, limb), ...operand(RIGHT, limb), ...w.addNarrow]);

/** `subtract(target, left, right)`; `right` must be reduced. */
const subtract = elementwise('subtract', (limb) => [
  ...operand(LEFT, limb),
  ...w.constantNarrow(twiceModulus(limb)),
  ...w.addNarrow,
  ...operand(RIGHT, limb),
  ...w.subtractNarrow,
]);

/** Brings ten 64-bit sums back to limbs: two chains of carries side by side, then one more step for what wrapped around. */
function reduce(sum: (limb: number) => number, carry: (chain: 0 | 1) => number): Code {
  const move = (limb: number, chain: 0 | 1): Code => {
    const next = sum((limb + 1) % LIMBS);
    const out = carry(chain);
    // What leaves the top limb weighs 2^255 and comes back as 19 = 16 + 2 + 1 times itself.
    const wrapped = [
      ...w.get(out),
      ...w.number(4),
      ...w.shiftLeftWide,
      ...w.get(out),
      ...w.number(1),
      ...w.shiftLeftWide,
      ...w.addWide,
      ...w.get(out),
      ...w.addWide,
    ];
    return [
      ...w.get(sum(limb)),
      ...w.number(bitsOf(limb)),
      ...w.shiftRightWide,
      ...w.set(out),
      ...w.get(sum(limb)),
      ...w.constantWide(2 ** bitsOf(limb) - 1),
      ...w.and,
      ...w.set(sum(limb)),
      ...w.get(next),
      ...(limb === LIMBS - 1 ? wrapped : w.get(out)),
      ...w.addWide,
      ...w.set(next),
    ];
  };
  return [0, 1, 2, 3, 4, 0].flatMap((step) => [...move(step, 0), ...move(step + 5, 1)]);
}

const store = (sum: (limb: number) => number): Code =>
  limbs.flatMap((limb) => [...w.get(TARGET), ...w.narrow(sum(limb)), ...w.storePair(8 * limb)]);

/**
 * The sum over i + j = k of left i × right j. A pair of odd limbs weighs twice its place, since 25.5 was rounded up twice, and
 * what lands beyond the top limb counts 19 times: both factors go into the operands beforehand.
 */
function multiplication(name: string, parameters: number, loadRight: (limb: number) => Code): Func {
  const locals: number[] = [];
  const local = () => parameters + locals.push(w.V128) - 1;
  const many = () => limbs.map(local);
  const [left, right, doubled, times19, sums] = [many(), many(), many(), many(), many()];
  const carries = [local(), local()];
  const at = (list: readonly number[]) => (limb: number) => list[limb] ?? 0;
  const prepare = limbs.flatMap((limb) => [
    ...operand(LEFT, limb),
    ...w.set(at(left)(limb)),
    ...loadRight(limb),
    ...w.set(at(right)(limb)),
    ...(isOdd(limb)
      ? [...w.get(at(left)(limb)), ...w.number(1), ...w.shiftLeftNarrow, ...w.set(at(doubled)(limb))]
      : []),
    ...(limb > 0
      ? [...w.get(at(right)(limb)), ...w.constantNarrow(19), ...w.timesNarrow, ...w.set(at(times19)(limb))]
      : []),
  ]);
  const products = limbs.flatMap((place) => [
    ...limbs.flatMap((i) => {
      const j = (place - i + LIMBS) % LIMBS;
      return [
        ...w.get(at(isOdd(i) && isOdd(j) ? doubled : left)(i)),
        ...w.get(at(i + j >= LIMBS ? times19 : right)(j)),
        ...w.timesWide,
        ...(i > 0 ? w.addWide : []),
      ];
    }),
    ...w.set(at(sums)(place)),
  ]);
  return {
    name,
    parameters,
    locals,
    code: [...prepare, ...products, ...reduce(at(sums), at(carries)), ...store(at(sums))],
  };
}

/** `multiply(target, left, right)` */
const multiply = multiplication('multiply', 3, (limb) => operand(RIGHT, limb));

/** `multiplyBySingles(target, left, right of the first, right of the second)`: the right factors are single numbers, each where it lies. */
const multiplyBySingles = multiplication('multiplyBySingles', 4, (limb) => [
  ...w.get(3),
  ...w.get(RIGHT),
  ...w.loadFirst(4 * limb),
  ...w.loadSecond(4 * limb),
]);

/** `square(target, left)`: the products i × j and j × i are one, taken twice. The number must be reduced. */
const square = ((): Func => {
  const locals: number[] = [];
  const local = () => 2 + locals.push(w.V128) - 1;
  const many = () => limbs.map(local);
  const [plain, twice, fourfold, times19, sums] = [many(), many(), many(), many(), many()];
  const carries = [local(), local()];
  const at = (list: readonly number[]) => (limb: number) => list[limb] ?? 0;
  const shifted = (limb: number, by: number, into: readonly number[]): Code => [
    ...w.get(at(plain)(limb)),
    ...w.number(by),
    ...w.shiftLeftNarrow,
    ...w.set(at(into)(limb)),
  ];
  const prepare = limbs.flatMap((limb) => [
    ...operand(LEFT, limb),
    ...w.set(at(plain)(limb)),
    ...shifted(limb, 1, twice),
    ...(isOdd(limb) ? shifted(limb, 2, fourfold) : []),
    ...w.get(at(plain)(limb)),
    ...w.constantNarrow(19),
    ...w.timesNarrow,
    ...w.set(at(times19)(limb)),
  ]);
  const factors = [plain, twice, fourfold] as const;
  const products = limbs.flatMap((place) => {
    const pairs = limbs.map((i) => [i, (place - i + LIMBS) % LIMBS] as const).filter(([i, j]) => i <= j);
    return [
      ...pairs.flatMap(([i, j], n) => {
        const doublings = Number(i !== j) + Number(isOdd(i) && isOdd(j));
        return [
          ...w.get(at(factors[doublings] ?? plain)(i)),
          ...w.get(at(i + j >= LIMBS ? times19 : plain)(j)),
          ...w.timesWide,
          ...(n > 0 ? w.addWide : []),
        ];
      }),
      ...w.set(at(sums)(place)),
    ];
  });
  return {
    name: 'square',
    parameters: 2,
    locals,
    code: [...prepare, ...products, ...reduce(at(sums), at(carries)), ...store(at(sums))],
  };
})();

/** In the order of their numbers, by which code calls them. */
export const FIELD_FUNCTIONS: readonly Func[] = [add, subtract, multiply, multiplyBySingles, square];
