/**
 * The part of JSON Schema in which our shapes are written. A shape is data: the checker reads it, the TypeScript type
 * is inferred from it, and it can be published as it stands.
 */
export type Schema = StringSchema | IntegerSchema | BooleanSchema | ArraySchema | ObjectSchema;

export interface StringSchema {
  readonly type: 'string' | readonly ['string', 'null'];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly enum?: readonly string[];
  readonly format?: 'date-time' | 'uri';
}

interface IntegerSchema {
  readonly type: 'integer';
  readonly minimum?: number;
}

interface BooleanSchema {
  readonly type: 'boolean';
}

interface ArraySchema {
  readonly type: 'array';
  readonly items: Schema;
  readonly maxItems: number;
}

export interface ObjectSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required: readonly string[];
}

/** The type of the values that a schema lets through. */
export type FromSchema<S> = S extends { type: 'object'; properties: infer P; required: readonly (infer R)[] }
  ? Flat<
      { readonly [K in keyof P as K extends R ? K : never]: FromSchema<P[K]> } & {
        readonly [K in keyof P as K extends R ? never : K]?: FromSchema<P[K]>;
      }
    >
  : S extends { type: 'array'; items: infer I }
    ? readonly FromSchema<I>[]
    : S extends { type: 'string'; enum: readonly (infer E)[] }
      ? E
      : S extends { type: readonly ['string', 'null'] }
        ? string | null
        : S extends { type: 'string' }
          ? string
          : S extends { type: 'integer' }
            ? number
            : S extends { type: 'boolean' }
              ? boolean
              : never;

type Flat<T> = { readonly [K in keyof T]: T[K] };

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string };

/**
 * Copies what the schema knows out of an untrusted JSON value and leaves the rest behind. The reason of a refusal names
 * the place and the rule, never the value.
 */
export function checkAgainst<const S extends Schema>(schema: S, value: unknown): Checked<FromSchema<S>> {
  try {
    return { ok: true, value: pick(schema, value, '') as FromSchema<S> };
  } catch (error) {
    if (error instanceof Mismatch) return { ok: false, reason: error.message };
    throw error;
  }
}

/** Leaves the recursion at the first mismatch; never seen outside of this file. */
class Mismatch extends Error {
  constructor(place: string, rule: string) {
    super(`${place === '' ? 'the value' : place} must be ${rule}`);
  }
}

function pick(schema: Schema, value: unknown, place: string): unknown {
  if (schema.type === 'object') return pickObject(schema, value, place);
  if (schema.type === 'array') return pickArray(schema, value, place);
  if (schema.type === 'integer') return pickInteger(schema, value, place);
  if (schema.type === 'boolean') return pickBoolean(value, place);
  return pickString(schema, value, place);
}

function pickObject(schema: ObjectSchema, value: unknown, place: string): Record<string, unknown> {
  if (!isObject(value)) throw new Mismatch(place, 'an object');
  const picked: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(schema.properties)) {
    const where = place === '' ? name : `${place}.${name}`;
    const isRequired = schema.required.includes(name);
    // Some languages write null for what is not there.
    if (!isRequired && value[name] === null) continue;
    if (Object.hasOwn(value, name)) picked[name] = pick(inner, value[name], where);
    else if (isRequired) throw new Mismatch(where, 'present');
  }
  return picked;
}

function pickArray(schema: ArraySchema, value: unknown, place: string): unknown[] {
  if (!Array.isArray(value)) throw new Mismatch(place, 'an array');
  if (value.length > schema.maxItems) throw new Mismatch(place, `at most ${schema.maxItems} entries`);
  return value.map((entry, index) => pick(schema.items, entry, `${place}[${index}]`));
}

function pickInteger(schema: IntegerSchema, value: unknown, place: string): number {
  const minimum = schema.minimum ?? Number.MIN_SAFE_INTEGER;
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw new Mismatch(place, 'an integer');
  if (value < minimum) throw new Mismatch(place, `at least ${minimum}`);
  return value;
}

function pickBoolean(value: unknown, place: string): boolean {
  if (typeof value !== 'boolean') throw new Mismatch(place, 'true or false');
  return value;
}

function pickString(schema: StringSchema, value: unknown, place: string): string | null {
  if (value === null && schema.type !== 'string') return null;
  if (typeof value !== 'string')
    throw new Mismatch(place, schema.type === 'string' ? 'a string' : 'a string or null');
  const { minLength = 0, maxLength = Infinity } = schema;
  if (value.length < minLength || value.length > maxLength) {
    throw new Mismatch(place, `${minLength} to ${maxLength} characters long`);
  }
  if (!value.isWellFormed()) throw new Mismatch(place, 'well-formed Unicode');
  if (schema.enum && !schema.enum.includes(value))
    throw new Mismatch(place, `one of ${schema.enum.join(', ')}`);
  if (schema.format === 'date-time' && !isDateTime(value))
    throw new Mismatch(place, 'a date and time of ISO 8601');
  if (schema.format === 'uri' && !isWebUrl(value)) throw new Mismatch(place, 'an absolute http or https URL');
  return value;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

function isDateTime(value: string): boolean {
  return DATE_TIME.test(value) && !Number.isNaN(Date.parse(value));
}

function isWebUrl(value: string): boolean {
  const url = URL.parse(value);
  return url?.protocol === 'https:' || url?.protocol === 'http:';
}
