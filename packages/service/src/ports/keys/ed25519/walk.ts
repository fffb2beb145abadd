import { FIELD_FUNCTIONS, PAIR_BYTES } from './field.ts';
import * as w from './wasm-module.ts';
import type { Code, Func } from './wasm-module.ts';

/** Where the two running points lie: X, Y, Z, T of both, in extended coordinates. */
export const SUM = { x: 0, y: PAIR_BYTES, z: 2 * PAIR_BYTES, t: 3 * PAIR_BYTES } as const;
const [A, B, C, D, E, F, G, H] = Array.from({ length: 8 }, (_, at) => (4 + at) * PAIR_BYTES) as [
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
];
/** The first byte that is free for others. */
export const FREE = 12 * PAIR_BYTES;

/** Of one step: where y + x, y − x and 2dxy of the points to add lie, for the first sum and then for the second. */
export const STEP_BYTES = 6 * 4;

const numbered = (name: string) => FIELD_FUNCTIONS.findIndex((func) => func.name === name);
const run = (name: string, ...operands: number[]): Code => [
  ...operands.flatMap((operand) => w.number(operand)),
  ...w.call(numbered(name)),
];

const STEPS = 0;
const LEFT = 1;

/** From an entry of a step, a product with two single numbers, each where it lies. */
const byEntry = (target: number, left: number, entry: number): Code => [
  ...w.number(target),
  ...w.number(left),
  ...w.get(STEPS),
  ...w.load32(4 * entry),
  ...w.get(STEPS),
  ...w.load32(4 * (entry + 3)),
  ...w.call(numbered('multiplyBySingles')),
];

/**
 * `walk(steps, count)`: adds to each of the two sums one precomputed point per step. The formulas (add-2008-hwcd-3 with Z2 = 1) are
 * complete on this curve: they also hold for equal points, opposite points and the neutral one.
 */
const walk: Func = {
  name: 'walk',
  parameters: 2,
  locals: [],
  code: w.loop(
    run('subtract', A, SUM.y, SUM.x),
    run('add', B, SUM.y, SUM.x),
    byEntry(A, A, 1),
    byEntry(B, B, 0),
    byEntry(C, SUM.t, 2),
    run('add', D, SUM.z, SUM.z),
    run('subtract', E, B, A),
    run('subtract', F, D, C),
    run('add', G, D, C),
    run('add', H, B, A),
    run('multiply', SUM.x, F, E),
    run('multiply', SUM.y, G, H),
    run('multiply', SUM.z, F, G),
    run('multiply', SUM.t, E, H),
    w.get(STEPS),
    w.number(STEP_BYTES),
    w.add32,
    w.set(STEPS),
    w.get(LEFT),
    w.number(1),
    w.subtract32,
    w.tee(LEFT),
  ),
};

/** `squareAgain(target, count)`: squares in place, at least once. */
const squareAgain: Func = {
  name: 'squareAgain',
  parameters: 2,
  locals: [],
  code: w.loop(w.get(0), w.get(0), w.call(numbered('square')), w.get(1), w.number(1), w.subtract32, w.tee(1)),
};

/** The functions above, and the memory they work on: all operands are offsets into it. */
export interface Arithmetic {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  readonly add: (target: number, left: number, right: number) => void;
  readonly subtract: (target: number, left: number, right: number) => void;
  readonly multiply: (target: number, left: number, right: number) => void;
  readonly square: (target: number, left: number) => void;
  readonly squareAgain: (target: number, count: number) => void;
  readonly walk: (steps: number, count: number) => void;
}

// The compiler knows this global only with the library for browsers.
declare const WebAssembly: {
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

const PAGE = 65_536;

/** Fresh memory of at least so many bytes, and the code to work on it. Throws where the engine knows no vectors. */
export function createArithmetic(bytes: number): Arithmetic {
  compiled ??= new WebAssembly.Module(w.assemble([...FIELD_FUNCTIONS, walk, squareAgain], 1));
  const arithmetic = new WebAssembly.Instance(compiled).exports as Arithmetic;
  arithmetic.memory.grow(Math.ceil(bytes / PAGE) - 1);
  return arithmetic;
}

// Code, not state: the same for everybody, and worth compiling once.
let compiled: object | undefined;
