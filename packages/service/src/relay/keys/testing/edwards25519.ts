/** Arithmetic on the curve of Ed25519, for tests that craft weak keys and signatures. Slow, and not constant time. */
const P = 2n ** 255n - 19n;
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;
const SQRT_MINUS_ONE = 19681161376707505956807079304988542015446066515923890162744021073123829784752n;
/** The order of the main subgroup. */
export const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

/** Extended coordinates: the affine point is (x/z, y/z), and t = xy/z. */
export interface Point {
  readonly x: bigint;
  readonly y: bigint;
  readonly z: bigint;
  readonly t: bigint;
}

const IDENTITY: Point = { x: 0n, y: 1n, z: 1n, t: 0n };

const mod = (value: bigint): bigint => ((value % P) + P) % P;

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let square = mod(base);
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = (result * square) % P;
    square = (square * square) % P;
  }
  return result;
}

const inverse = (value: bigint): bigint => power(value, P - 2n);

/** Returns the point of a 32-byte encoding, or undefined when the encoding is invalid or not canonical. */
export function decodePoint(bytes: Uint8Array): Point | undefined {
  const number = littleEndian(bytes);
  const y = number & (2n ** 255n - 1n);
  const negative = number >> 255n === 1n;
  if (bytes.length !== 32 || y >= P) return undefined;
  const square = mod((y * y - 1n) * inverse(D * y * y + 1n));
  let x = power(square, (P + 3n) / 8n);
  if (mod(x * x) !== square) x = mod(x * SQRT_MINUS_ONE);
  if (mod(x * x) !== square || (x === 0n && negative)) return undefined;
  if (negative !== ((x & 1n) === 1n)) x = mod(-x);
  return { x, y, z: 1n, t: mod(x * y) };
}

export function encodePoint({ x, y, z }: Point): Uint8Array {
  const scale = inverse(z);
  const number = mod(y * scale) | ((mod(x * scale) & 1n) << 255n);
  return Uint8Array.from({ length: 32 }, (_, at) => Number((number >> BigInt(8 * at)) & 255n));
}

/** The addition law is complete on this curve: it also covers doubling and points of small order. */
export function addPoints(p: Point, q: Point): Point {
  const a = mod((p.y - p.x) * (q.y - q.x));
  const b = mod((p.y + p.x) * (q.y + q.x));
  const c = mod(2n * D * p.t * q.t);
  const d = mod(2n * p.z * q.z);
  const [e, f, g, h] = [b - a, d - c, d + c, b + a];
  return { x: mod(e * f), y: mod(g * h), z: mod(f * g), t: mod(e * h) };
}

export function multiplyPoint(point: Point, scalar: bigint): Point {
  let result = IDENTITY;
  let double = point;
  for (let left = scalar; left > 0n; left >>= 1n) {
    if (left & 1n) result = addPoints(result, double);
    double = addPoints(double, double);
  }
  return result;
}

export function littleEndian(bytes: Uint8Array): bigint {
  return bytes.reduceRight((number, byte) => (number << 8n) | BigInt(byte), 0n);
}
