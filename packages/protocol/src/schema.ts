/**
 * The subset of JSON Schema used for frames, footers and the operator API. A schema is plain data: values are validated against it,
 * the TypeScript type is inferred from it, and the published documents include it unchanged.
 */
export type Schema =
  | StringSchema
  | NumberSchema
  | BooleanSchema
  | NullSchema
  | ArraySchema
  | ObjectSchema
  | RecordSchema
  | UnionSchema;

export interface StringSchema {
  readonly type: 'string' | readonly ['string', 'null'];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly enum?: readonly string[];
  readonly format?: 'date-time' | 'uri';
  /** Matched as Unicode. Needs a description. */
  readonly pattern?: string;
  /** What the value must be, for a pattern: `a cursor of the previous page`. */
  readonly description?: string;
}

interface NumberSchema {
  readonly type: 'integer' | 'number';
  readonly minimum?: number;
  readonly maximum?: number;
}

interface BooleanSchema {
  readonly type: 'boolean';
}

interface NullSchema {
  readonly type: 'null';
}

interface ArraySchema {
  readonly type: 'array';
  readonly items: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
}

export interface ObjectSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required: readonly string[];
  /** Refuses undeclared properties, which are otherwise dropped. */
  readonly additionalProperties?: false;
}

/** An object with any keys. */
interface RecordSchema {
  readonly type: 'object';
  readonly additionalProperties: Schema;
}

interface UnionSchema {
  readonly anyOf: readonly Schema[];
  /** What the value must be. */
  readonly description?: string;
}

/** The TypeScript type of the values that match a schema. */
export type FromSchema<S> = Schema extends S
  ? unknown
  : S extends { anyOf: readonly (infer A)[] }
    ? FromSchema<A>
    : S extends { type: 'object'; properties: infer P; required: readonly (infer R)[] }
      ? Flat<
          { readonly [K in keyof P as K extends R ? K : never]: FromSchema<P[K]> } & {
            readonly [K in keyof P as K extends R ? never : K]?: FromSchema<P[K]>;
          }
        >
      : S extends { type: 'object'; additionalProperties: infer V }
        ? Readonly<Record<string, FromSchema<V>>>
        : S extends { type: 'array'; items: infer I }
          ? readonly FromSchema<I>[]
          : S extends { type: 'string'; enum: readonly (infer E)[] }
            ? E
            : S extends { type: infer T }
              ? FromType<T>
              : never;

type FromType<T> = T extends readonly ['string', 'null']
  ? string | null
  : T extends 'string'
    ? string
    : T extends 'integer' | 'number'
      ? number
      : T extends 'boolean'
        ? boolean
        : T extends 'null'
          ? null
          : never;

type Flat<T> = { readonly [K in keyof T]: T[K] };

type Properties = Readonly<Record<string, Schema>>;
type ObjectOf<R extends Properties, O extends Properties> = {
  readonly type: 'object';
  readonly properties: R & O;
  readonly required: readonly (keyof R & string)[];
};

/** An object with these required and optional properties. */
// @__NO_SIDE_EFFECTS__
export function object<const R extends Properties, const O extends Properties = {}>(
  required: R,
  optional?: O,
): ObjectOf<R, O> {
  return { type: 'object', properties: { ...required, ...(optional as O) }, required: Object.keys(required) };
}

/** Like `object`, and refuses other properties. */
// @__NO_SIDE_EFFECTS__
export function strict<const R extends Properties, const O extends Properties = {}>(
  required: R,
  optional?: O,
): ObjectOf<R, O> & { readonly additionalProperties: false } {
  return { ...object(required, optional), additionalProperties: false };
}

export const list = /* @__NO_SIDE_EFFECTS__ */ <const I extends Schema>(items: I) =>
  ({ type: 'array', items }) as const;

export const nullable = /* @__NO_SIDE_EFFECTS__ */ <const S extends Schema>(schema: S) =>
  ({ anyOf: [schema, { type: 'null' }] }) as const;

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      /** Names the path and the rule, never the value. */
      readonly reason: string;
      /** Empty: the value itself. */
      readonly path: string;
      readonly rule: string;
    };

/**
 * Validates an untrusted JSON value and returns a copy of the properties that the schema declares; other properties are
 * dropped. `defaults` supplies top-level properties that the value lacks.
 */
export function checkAgainst<const S extends Schema>(
  schema: S,
  value: unknown,
  defaults?: Readonly<Record<string, unknown>>,
): Checked<FromSchema<S>> {
  try {
    return { ok: true, value: pickerOf(schema)(value, undefined, undefined, defaults) as FromSchema<S> };
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    const { message: reason, path, rule } = error;
    return { ok: false, reason, path, rule };
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
  readonly path: string;
  readonly rule: string;

  constructor(rule: string, parent?: Path, key?: string | number) {
    const path = formatPath(childPath(parent, key));
    super(`${path === '' ? 'the value' : path} must be ${rule}`);
    this.path = path;
    this.rule = rule;
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
  if ('anyOf' in schema) return unionPicker(schema);
  switch (schema.type) {
    case 'integer':
    case 'number':
      return (value, parent, key) => pickNumber(schema, value, parent, key);
    case 'boolean':
      return pickBoolean;
    case 'null':
      return pickNull;
    case 'object':
      return 'properties' in schema ? objectPicker(schema) : recordPicker(schema);
    case 'array': {
      const pick = pickerOf(schema.items);
      return (value, parent, key) => pickArray(schema, pick, value, childPath(parent, key));
    }
    case 'string':
    default: {
      const pattern = schema.pattern === undefined ? undefined : new RegExp(schema.pattern, 'u');
      return (value, parent, key) => pickString(schema, pattern, value, parent, key);
    }
  }
}

function objectPicker(schema: ObjectSchema): Picker {
  const fields = Object.entries(schema.properties).map(([name, inner]): Field => ({
    name,
    isRequired: schema.required.includes(name),
    pick: pickerOf(inner),
  }));
  const isStrict = schema.additionalProperties === false;
  return (value, parent, key, defaults) => {
    const path = childPath(parent, key);
    const picked = pickObject(fields, value, path, defaults);
    if (isStrict) refuseOthers(schema, Object(value), path);
    return picked;
  };
}

function refuseOthers({ properties }: ObjectSchema, value: object, path?: Path): void {
  const other = Object.keys(value).find((name) => !Object.hasOwn(properties, name));
  if (other === undefined) return;
  const known = Object.keys(properties).join(', ');
  throw new SchemaError(`left out; only ${known} may be given`, path, other.slice(0, 64));
}

function recordPicker(schema: RecordSchema): Picker {
  const pick = pickerOf(schema.additionalProperties);
  return (value, parent, key) => {
    const path = childPath(parent, key);
    if (!isObject(value)) throw new SchemaError('an object', path);
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, pick(inner, path, name)]));
  };
}

/** Returns what the first matching alternative picks. A mismatch is reported by the alternative that declares most of the given properties. */
function unionPicker({ anyOf, description }: UnionSchema): Picker {
  const alternatives = anyOf.map((schema) => ({ schema, pick: pickerOf(schema) }));
  const mayBeNull = anyOf.some((schema) => 'type' in schema && schema.type === 'null');
  return (value, parent, key) => {
    if (value === null && mayBeNull) return null;
    let mismatch: { readonly error: SchemaError; readonly known: number } | undefined;
    for (const { schema, pick } of alternatives)
      try {
        return pick(value, parent, key);
      } catch (error) {
        if (!(error instanceof SchemaError)) throw error;
        const known = knownIn(schema, value);
        if (known >= (mismatch?.known ?? -1)) mismatch = { error, known };
      }
    if (mismatch !== undefined && description === undefined) throw mismatch.error;
    throw new SchemaError(description ?? 'one of the alternatives', parent, key);
  };
}

/** The number of properties of a value that a schema declares. Null is the least likely of all. */
function knownIn(schema: Schema, value: unknown): number {
  if ('type' in schema && schema.type === 'null') return -1;
  if (!('properties' in schema) || !isObject(value)) return 0;
  return Object.keys(value).filter((name) => Object.hasOwn(schema.properties, name)).length;
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

function pickArray(schema: ArraySchema, pick: Picker, value: unknown, path?: Path): unknown[] {
  if (!Array.isArray(value)) throw new SchemaError('an array', path);
  const { minItems = 0, maxItems = Infinity } = schema;
  if (value.length > maxItems) throw new SchemaError(`an array of at most ${maxItems} entries`, path);
  if (value.length < minItems) throw new SchemaError(`an array of at least ${minItems} entries`, path);
  return value.map((entry, index) => pick(entry, path, index));
}

function pickNumber(schema: NumberSchema, value: unknown, parent?: Path, key?: string | number): number {
  const isWhole = schema.type === 'integer';
  if (typeof value !== 'number' || !(isWhole ? Number.isSafeInteger(value) : Number.isFinite(value)))
    throw new SchemaError(isWhole ? 'an integer' : 'a number', parent, key);
  const { minimum = -Infinity, maximum = Infinity } = schema;
  if (value < minimum) throw new SchemaError(`at least ${minimum}`, parent, key);
  if (value > maximum) throw new SchemaError(`at most ${maximum}`, parent, key);
  return value;
}

function pickNull(value: unknown, parent?: Path, key?: string | number): null {
  if (value !== null) throw new SchemaError('null', parent, key);
  return null;
}

function pickBoolean(value: unknown, parent?: Path, key?: string | number): boolean {
  if (typeof value !== 'boolean') throw new SchemaError('true or false', parent, key);
  return value;
}

function pickString(
  schema: StringSchema,
  pattern: RegExp | undefined,
  value: unknown,
  parent?: Path,
  key?: string | number,
): string | null {
  if (value === null && schema.type !== 'string') return null;
  const violated = typeof value === 'string' ? violatedRule(schema, pattern, value) : typeRule(schema);
  if (violated !== undefined) throw new SchemaError(violated, parent, key);
  return String(value);
}

const typeRule = (schema: StringSchema) => (schema.type === 'string' ? 'a string' : 'a string or null');

function violatedRule(schema: StringSchema, pattern: RegExp | undefined, value: string): string | undefined {
  const { minLength = 0, maxLength = Infinity } = schema;
  if (value.length < minLength || value.length > maxLength)
    return maxLength === Infinity
      ? `at least ${minLength} characters long`
      : `${minLength === 0 ? 'at most' : `${minLength} to`} ${maxLength} characters long`;
  if (!value.isWellFormed()) return 'well-formed Unicode';
  if (schema.enum && !schema.enum.includes(value)) return `one of ${schema.enum.join(', ')}`;
  if (pattern?.test(value) === false) return schema.description;
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
