import { hash } from 'node:crypto';

import { ORDER, decodePoint, littleEndian, negatePoint, toLittleEndian } from '../edwards25519.ts';
import { canonicalBytes, limbsOf } from './limbs.ts';
import { DIGITS, TABLE_BYTES, TWICE_D, TableWriter, writeSteps } from './table.ts';
import { STEP_BYTES, SUM } from './walk.ts';
import { Workbench } from './workbench.ts';

/** Tables stay as long as their engine, so that no key can ever meet another's. Memory is used as they are written. */
const MAX_KEYS = 64;
const ROOM = 65_536 + TableWriter.BYTES + (MAX_KEYS + 1) * TABLE_BYTES;

const BASE = Uint8Array.from({ length: 32 }, (_, byte) => (byte === 0 ? 0x58 : 0x66));

/** A public key whose table is written. */
export interface PreparedKey {
  readonly raw: Uint8Array;
  readonly table: number;
}

/**
 * Verifies Ed25519 signatures of keys that it was prepared for, in a quarter of the time that OpenSSL takes.
 *
 * A signature (R, S) is good when S·B − h·A is R. Both products are sums of precomputed points, one per digit, walked side by side in
 * the two lanes of a vector. Everything is public, so nothing needs to take the same time for every input. The equation
 * is the one without cofactor, R is compared byte by byte, and S must be reduced: exactly what OpenSSL checks.
 */
export class FastEd25519 {
  readonly #bench = new Workbench(ROOM);
  readonly #writer = new TableWriter(this.#bench);
  readonly #steps = this.#bench.take(DIGITS * STEP_BYTES);
  readonly #base = this.#bench.take(TABLE_BYTES);
  readonly #tables = new Map<string, number>();
  readonly #at = placesFor(this.#bench, [
    'x',
    'y',
    'z',
    't',
    'a',
    'b',
    'c',
    'd',
    'e',
    'f',
    'g',
    'h',
    'twiceD',
  ]);

  constructor() {
    this.#bench.put(this.#at.twiceD, limbsOf(TWICE_D));
    const base = decodePoint(BASE);
    if (base !== undefined) this.#writer.write(this.#base, base);
  }

  /** Keys with a table. */
  get size(): number {
    return this.#tables.size;
  }

  get isFull(): boolean {
    return this.size >= MAX_KEYS;
  }

  knows(raw: Uint8Array): boolean {
    return this.#tables.has(nameOf(raw));
  }

  /** Takes some milliseconds for a key it does not know. Undefined when the bytes are no point, or there is no room. */
  prepare(raw: Uint8Array): PreparedKey | undefined {
    const name = nameOf(raw);
    const known = this.#tables.get(name);
    if (known !== undefined) return { raw, table: known };
    const point = decodePoint(raw);
    if (point === undefined || this.isFull) return undefined;
    const table = this.#bench.take(TABLE_BYTES);
    this.#writer.write(table, negatePoint(point));
    this.#tables.set(name, table);
    return { raw, table };
  }

  verify({ raw, table }: PreparedKey, body: Uint8Array, signature: Uint8Array): boolean {
    const r = signature.subarray(0, 32);
    const s = signature.subarray(32);
    if (signature.length !== 64 || !isReduced(s)) return false;
    const steps = this.#bench.view(this.#steps, DIGITS * STEP_BYTES);
    writeSteps(steps, 0, s, this.#base);
    writeSteps(steps, 1, challenge(r, raw, body), table);
    this.#bench.beginWalk();
    this.#bench.run.walk(this.#steps, DIGITS);
    this.#addLanes();
    return this.#isSum(r);
  }

  /** Adds the second sum to the first (add-2008-hwcd-3). */
  #addLanes(): void {
    const { add, subtract, multiply } = this.#bench.run;
    const at = this.#at;
    this.#bench.secondToFirst(SUM.x, at.x);
    this.#bench.secondToFirst(SUM.y, at.y);
    this.#bench.secondToFirst(SUM.z, at.z);
    this.#bench.secondToFirst(SUM.t, at.t);
    subtract(at.a, SUM.y, SUM.x);
    subtract(at.b, at.y, at.x);
    multiply(at.a, at.a, at.b);
    add(at.b, SUM.y, SUM.x);
    add(at.c, at.y, at.x);
    multiply(at.b, at.b, at.c);
    multiply(at.c, SUM.t, at.t);
    multiply(at.c, at.c, at.twiceD);
    multiply(at.d, SUM.z, at.z);
    add(at.d, at.d, at.d);
    subtract(at.e, at.b, at.a);
    subtract(at.f, at.d, at.c);
    add(at.g, at.d, at.c);
    add(at.h, at.b, at.a);
    multiply(SUM.x, at.f, at.e);
    multiply(SUM.y, at.g, at.h);
    multiply(SUM.z, at.f, at.g);
  }

  /** Whether the first sum is written as these bytes: its y, and the lowest bit of its x at the very end. */
  #isSum(bytes: Uint8Array): boolean {
    const { a, b, c } = this.#at;
    this.#bench.invert(c, SUM.z);
    this.#bench.run.multiply(a, SUM.x, c);
    this.#bench.run.multiply(b, SUM.y, c);
    const x = canonicalBytes(this.#bench.first(a));
    const y = canonicalBytes(this.#bench.first(b));
    y[31] = (y[31] ?? 0) | (((x[0] ?? 0) & 1) << 7);
    return y.every((byte, place) => byte === bytes[place]);
  }
}

function placesFor<Name extends string>(bench: Workbench, names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, bench.pair()])) as Record<Name, number>;
}

const nameOf = (raw: Uint8Array): string => Buffer.from(raw).toString('hex');

/** h: the hash of R, public key and message, modulo the order of the group, in 32 bytes. */
function challenge(r: Uint8Array, raw: Uint8Array, body: Uint8Array): Uint8Array {
  const hashed = Buffer.allocUnsafe(64 + body.length);
  hashed.set(r, 0);
  hashed.set(raw, 32);
  hashed.set(body, 64);
  const reduced = littleEndian(hash('sha512', hashed, 'buffer')) % ORDER;
  return toLittleEndian(reduced);
}

function isReduced(s: Uint8Array): boolean {
  return (s[31] ?? 255) < 0x10 || littleEndian(s) < ORDER;
}
