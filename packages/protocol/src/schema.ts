/**
 * The subset of JSON Schema used for frames and footers. A schema is plain data: values are validated against it, the
 * TypeScript type is inferred from it, and the published documents include it unchanged.
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

/** The TypeScript type of the values that match a schema. */
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
 * Validates an untrusted JSON value and returns a copy of the properties that the schema declares; other properties are
 * dropped. `defaults` supplies top-level properties that the value lacks. The reason of a failure names the path and the
 * rule, never the value.
 */
export function checkAgainst<const S extends Schema>(
  schema: S,
  value: unknown,
  defaults?: Readonly<Record<string, unknown>>,
): Checked<FromSchema<S>> {
  try {
    return { ok: true, value: pickerOf(schema)(value, undefined, undefined, defaults) as FromSchema<S> };
  } catch (error) {
    if (error instanceof SchemaError) return { ok: false, reason: error.message };
    throw error;
  }
}

/** A path within the value, as a linked list. It becomes a string only on failure: a string per field would cost as much as the check. */
interface Path {
  readonly parent: Path | undefined;
  readonly key: string | number;
}

function formatPath(path: Path | undefined): string {
  if (path === undefined) return '';
  const before = formatPath(path.parent);
  if (typeof path.key === 'number') return `${before}[${path.key}]`;
  return before === '' ? path.key : `${before}.${path.key}`;
}

/** Ends the recursion at the first mismatch. `checkAgainst` catches it. */
class SchemaError extends Error {
  constructor(rule: string, parent?: Path, key?: string | number) {
    const path = key === undefined ? formatPath(parent) : formatPath({ parent, key });
    super(`${path === '' ? 'the value' : path} must be ${rule}`);
  }
}

type Picker = (
  value: unknown,
  parent?: Path,
  key?: string | number,
  defaults?: Readonly<Record<string, unknown>>,
) => unknown;

interface Field {
  readonly name: string;
  readonly isRequired: boolean;
  readonly pick: Picker;
}

const PICKERS = new WeakMap<Schema, Picker>();

/** Compiles each schema once and caches the result. */
function pickerOf(schema: Schema): Picker {
  const cached = PICKERS.get(schema);
  if (cached !== undefined) return cached;
  const picker = makePicker(schema);
  PICKERS.set(schema, picker);
  return picker;
}

function makePicker(schema: Schema): Picker {
  if (schema.type === 'integer') return (value, parent, key) => pickInteger(schema, value, parent, key);
  if (schema.type === 'boolean') return pickBoolean;
  if (schema.type === 'object') {
    const fields = Object.entries(schema.properties).map(([name, inner]): Field => ({
      name,
      isRequired: schema.required.includes(name),
      pick: pickerOf(inner),
    }));
    return (value, parent, key, defaults) => pickObject(fields, value, childPath(parent, key), defaults);
  }
  if (schema.type === 'array') {
    const pick = pickerOf(schema.items);
    return (value, parent, key) => pickArray(schema.maxItems, pick, value, childPath(parent, key));
  }
  return (value, parent, key) => pickString(schema, value, parent, key);
}

const childPath = (parent: Path | undefined, key: string | number | undefined): Path | undefined =>
  key === undefined ? parent : { parent, key };

function pickObject(
  fields: readonly Field[],
  value: unknown,
  path?: Path,
  defaults?: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  if (!isObject(value)) throw new SchemaError('an object', path);
  const picked: Record<string, unknown> = {};
  for (const { name, isRequired, pick } of fields) {
    const given = Object.hasOwn(value, name) ? value[name] : defaults?.[name];
    if (given === undefined) {
      if (isRequired) throw new SchemaError('present', path, name);
      // Some languages serialise an absent value as null.
    } else if (isRequired || given !== null) picked[name] = pick(given, path, name);
  }
  return picked;
}

function pickArray(maxItems: number, pick: Picker, value: unknown, path?: Path): unknown[] {
  if (!Array.isArray(value)) throw new SchemaError('an array', path);
  if (value.length > maxItems) throw new SchemaError(`an array of at most ${maxItems} entries`, path);
  return value.map((entry, index) => pick(entry, path, index));
}

function pickInteger(schema: IntegerSchema, value: unknown, parent?: Path, key?: string | number): number {
  const minimum = schema.minimum ?? Number.MIN_SAFE_INTEGER;
  if (typeof value !== 'number' || !Number.isSafeInteger(value))
    throw new SchemaError('an integer', parent, key);
  if (value < minimum) throw new SchemaError(`at least ${minimum}`, parent, key);
  return value;
}

function pickBoolean(value: unknown, parent?: Path, key?: string | number): boolean {
  if (typeof value !== 'boolean') throw new SchemaError('true or false', parent, key);
  return value;
}

function pickString(
  schema: StringSchema,
  value: unknown,
  parent?: Path,
  key?: string | number,
): string | null {
  if (value === null && schema.type !== 'string') return null;
  const violated = typeof value === 'string' ? violatedRule(schema, value) : typeRule(schema);
  if (violated !== undefined) throw new SchemaError(violated, parent, key);
  return String(value);
}

const typeRule = (schema: StringSchema) => (schema.type === 'string' ? 'a string' : 'a string or null');

function violatedRule(schema: StringSchema, value: string): string | undefined {
  const { minLength = 0, maxLength = Infinity } = schema;
  if (value.length < minLength || value.length > maxLength)
    return `${minLength} to ${maxLength} characters long`;
  if (!value.isWellFormed()) return 'well-formed Unicode';
  if (schema.enum && !schema.enum.includes(value)) return `one of ${schema.enum.join(', ')}`;
  if (schema.format === 'date-time' && !isDateTime(value)) return 'an ISO 8601 date and time';
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

/** Does not use `URL.parse`, which Node 20.0 and some browsers of kit users lack. */
export function isWebUrl(value: string): boolean {
  return URL.canParse(value) && ['https:', 'http:'].includes(new URL(value).protocol);
}
