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
 * Copies what the schema knows out of an untrusted JSON value and leaves the rest behind; `leftOut` stands in for fields that
 * are not there. The reason of a refusal names the place and the rule, never the value.
 */
export function checkAgainst<const S extends Schema>(
  schema: S,
  value: unknown,
  leftOut?: Readonly<Record<string, unknown>>,
): Checked<FromSchema<S>> {
  try {
    return { ok: true, value: pickerOf(schema)(value, undefined, undefined, leftOut) as FromSchema<S> };
  } catch (error) {
    if (error instanceof Mismatch) return { ok: false, reason: error.message };
    throw error;
  }
}

/** Where in the value we are. Spelled out only when something is wrong there: a name per field and frame would cost as much as the check. */
interface Place {
  readonly within: Place | undefined;
  readonly key: string | number;
}

function spelled(place: Place | undefined): string {
  if (place === undefined) return '';
  const before = spelled(place.within);
  if (typeof place.key === 'number') return `${before}[${place.key}]`;
  return before === '' ? place.key : `${before}.${place.key}`;
}

/** Leaves the recursion at the first mismatch; never seen outside of this file. */
class Mismatch extends Error {
  constructor(rule: string, within?: Place, key?: string | number) {
    const place = key === undefined ? spelled(within) : spelled({ within, key });
    super(`${place === '' ? 'the value' : place} must be ${rule}`);
  }
}

type Picker = (
  value: unknown,
  within?: Place,
  key?: string | number,
  leftOut?: Readonly<Record<string, unknown>>,
) => unknown;

interface Field {
  readonly name: string;
  readonly isRequired: boolean;
  readonly pick: Picker;
}

const PICKERS = new WeakMap<Schema, Picker>();

/** A schema is read once; every value is then met by a function that knows what to do. */
function pickerOf(schema: Schema): Picker {
  const known = PICKERS.get(schema);
  if (known !== undefined) return known;
  const made = makePicker(schema);
  PICKERS.set(schema, made);
  return made;
}

function makePicker(schema: Schema): Picker {
  if (schema.type === 'integer') return (value, within, key) => pickInteger(schema, value, within, key);
  if (schema.type === 'boolean') return pickBoolean;
  if (schema.type === 'object') {
    const fields = Object.entries(schema.properties).map(([name, inner]): Field => ({
      name,
      isRequired: schema.required.includes(name),
      pick: pickerOf(inner),
    }));
    return (value, within, key, leftOut) => pickObject(fields, value, inside(within, key), leftOut);
  }
  if (schema.type === 'array') {
    const pick = pickerOf(schema.items);
    return (value, within, key) => pickArray(schema.maxItems, pick, value, inside(within, key));
  }
  return (value, within, key) => pickString(schema, value, within, key);
}

const inside = (within: Place | undefined, key: string | number | undefined): Place | undefined =>
  key === undefined ? within : { within, key };

function pickObject(
  fields: readonly Field[],
  value: unknown,
  place?: Place,
  leftOut?: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  if (!isObject(value)) throw new Mismatch('an object', place);
  const picked: Record<string, unknown> = {};
  for (const { name, isRequired, pick } of fields) {
    const given = Object.hasOwn(value, name) ? value[name] : leftOut?.[name];
    if (given === undefined) {
      if (isRequired) throw new Mismatch('present', place, name);
      // Some languages write null for what is not there.
    } else if (isRequired || given !== null) picked[name] = pick(given, place, name);
  }
  return picked;
}

function pickArray(maxItems: number, pick: Picker, value: unknown, place?: Place): unknown[] {
  if (!Array.isArray(value)) throw new Mismatch('an array', place);
  if (value.length > maxItems) throw new Mismatch(`at most ${maxItems} entries`, place);
  return value.map((entry, index) => pick(entry, place, index));
}

function pickInteger(schema: IntegerSchema, value: unknown, within?: Place, key?: string | number): number {
  const minimum = schema.minimum ?? Number.MIN_SAFE_INTEGER;
  if (typeof value !== 'number' || !Number.isSafeInteger(value))
    throw new Mismatch('an integer', within, key);
  if (value < minimum) throw new Mismatch(`at least ${minimum}`, within, key);
  return value;
}

function pickBoolean(value: unknown, within?: Place, key?: string | number): boolean {
  if (typeof value !== 'boolean') throw new Mismatch('true or false', within, key);
  return value;
}

function pickString(
  schema: StringSchema,
  value: unknown,
  within?: Place,
  key?: string | number,
): string | null {
  if (value === null && schema.type !== 'string') return null;
  const broken = typeof value === 'string' ? brokenRule(schema, value) : kindOfText(schema);
  if (broken !== undefined) throw new Mismatch(broken, within, key);
  return String(value);
}

const kindOfText = (schema: StringSchema) => (schema.type === 'string' ? 'a string' : 'a string or null');

function brokenRule(schema: StringSchema, value: string): string | undefined {
  const { minLength = 0, maxLength = Infinity } = schema;
  if (value.length < minLength || value.length > maxLength)
    return `${minLength} to ${maxLength} characters long`;
  if (!value.isWellFormed()) return 'well-formed Unicode';
  if (schema.enum && !schema.enum.includes(value)) return `one of ${schema.enum.join(', ')}`;
  if (schema.format === 'date-time' && !isDateTime(value)) return 'a date and time of ISO 8601';
  if (schema.format === 'uri' && !isWebUrl(value)) return 'an absolute http or https URL';
  return undefined;
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
