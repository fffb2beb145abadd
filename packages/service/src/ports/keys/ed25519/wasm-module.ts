/** Just enough of WebAssembly's binary format to write straight-line arithmetic, loops and calls. */
export type Code = readonly number[];

export const I32 = 0x7f;
export const V128 = 0x7b;

function unsigned(value: number): number[] {
  const bytes: number[] = [];
  for (let left = value; ; left >>>= 7) {
    if (left < 0x80) return [...bytes, left];
    bytes.push((left & 0x7f) | 0x80);
  }
}

function signed(value: number): number[] {
  const bytes: number[] = [];
  for (let left = value; ; left >>= 7) {
    const low = left & 0x7f;
    if (left >> 6 === 0 || left >> 6 === -1) return [...bytes, low];
    bytes.push(low | 0x80);
  }
}

const vector = (items: readonly Code[]): number[] => [...unsigned(items.length), ...items.flat()];
const sized = (bytes: Code): number[] => [...unsigned(bytes.length), ...bytes];
const simd = (operation: number, ...rest: number[]): Code => [0xfd, ...unsigned(operation), ...rest];

export const get = (local: number): Code => [0x20, ...unsigned(local)];
export const set = (local: number): Code => [0x21, ...unsigned(local)];
export const tee = (local: number): Code => [0x22, ...unsigned(local)];
export const number = (value: number): Code => [0x41, ...signed(value)];
export const call = (index: number): Code => [0x10, ...unsigned(index)];
export const add32: Code = [0x6a];
export const subtract32: Code = [0x6b];
export const load32 = (offset: number): Code => [0x28, 2, ...unsigned(offset)];
/** Runs `body` again as long as it leaves a number other than zero. */
export const loop = (...body: Code[]): Code => [0x03, 0x40, ...body.flat(), 0x0d, 0, 0x0b];

// Pairs of 32-bit numbers in the lower half of a vector, and pairs of 64-bit numbers.
export const loadPair = (offset: number): Code => simd(0x5d, 3, ...unsigned(offset));
export const storePair = (offset: number): Code => simd(0x5b, 3, ...unsigned(offset), 0);
export const loadFirst = (offset: number): Code => simd(0x5c, 2, ...unsigned(offset));
export const loadSecond = (offset: number): Code => simd(0x56, 2, ...unsigned(offset), 1);
export const addNarrow = simd(0xae);
export const subtractNarrow = simd(0xb1);
export const timesNarrow = simd(0xb5);
export const shiftLeftNarrow = simd(0xab);
/** 32 × 32 → 64 bits, in both lanes. */
export const timesWide = simd(0xde);
export const addWide = simd(0xce);
export const shiftLeftWide = simd(0xcb);
export const shiftRightWide = simd(0xcd);
export const and = simd(0x4e);
/** The lower 32 bits of both 64-bit lanes, side by side. */
export const narrow = (local: number): Code => [
  ...get(local),
  ...get(local),
  ...simd(0x0d, 0, 1, 2, 3, 8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11),
];
const bytesOf = (value: number, width: number) =>
  Array.from({ length: width }, (_, at) => (at < 4 ? (value >>> (8 * at)) & 255 : 0));
export const constantNarrow = (value: number): Code =>
  simd(0x0c, ...Array.from({ length: 4 }, () => bytesOf(value, 4)).flat());
export const constantWide = (value: number): Code =>
  simd(0x0c, ...Array.from({ length: 2 }, () => bytesOf(value, 8)).flat());

/** The first bytes of every module: its name and version. */
const MAGIC = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

export interface Func {
  readonly name: string;
  /** All of type I32; nothing is returned. */
  readonly parameters: number;
  /** Types of further locals, numbered after the parameters. */
  readonly locals: readonly number[];
  readonly code: Code;
}

/** A module that exports its functions by name, and its memory of `pages` × 64 KiB as `memory`. */
export function assemble(functions: readonly Func[], pages: number): Uint8Array<ArrayBuffer> {
  const section = (id: number, items: readonly Code[]) => [id, ...sized(vector(items))];
  const text = (name: string) => sized([...Buffer.from(name)]);
  return Uint8Array.from([
    ...MAGIC,
    ...section(
      1,
      functions.map(({ parameters }) => [
        0x60,
        ...vector(Array.from({ length: parameters }, () => [I32])),
        0,
      ]),
    ),
    ...section(
      3,
      functions.map((_, at) => unsigned(at)),
    ),
    ...section(5, [[0x00, ...unsigned(pages)]]),
    ...section(7, [
      [...text('memory'), 2, 0],
      ...functions.map(({ name }, at) => [...text(name), 0, ...unsigned(at)]),
    ]),
    ...section(
      10,
      functions.map(({ locals, code }) => sized([...vector(locals.map((type) => [1, type])), ...code, 0x0b])),
    ),
  ]);
}
