import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { FRAME_SHAPES } from './frames.ts';
import { checkAgainst, isObject, nullable, object, strict } from './schema.ts';
import type { ObjectSchema, Schema, StringSchema } from './schema.ts';

const EVERY_KIND = strict(
  {
    name: { type: 'string', pattern: '^[a-z]{1,8}$', description: 'a name' },
    ratio: { type: 'number', minimum: 0, maximum: 1 },
    seats: { type: 'integer', minimum: 1, maximum: 9 },
    tags: { type: 'array', items: { type: 'string', maxLength: 5 }, minItems: 1, maxItems: 3 },
    counts: { type: 'object', additionalProperties: { type: 'integer' } },
    owner: nullable(object({ id: { type: 'string' } })),
  },
  { way: { anyOf: [strict({ token: { type: 'string' } }), strict({ code: { type: 'integer' } })] } },
);

const SCHEMAS = Object.entries<ObjectSchema>({
  ...FRAME_SHAPES.mac,
  ...FRAME_SHAPES.service,
  'every kind': EVERY_KIND,
});

const ajv = new Ajv({ allowUnionTypes: true });
addFormats.default(ajv, ['date-time']);
// Frames carry web addresses only.
ajv.addFormat('uri', /^https?:\/\/[^\s/]+(\/\S*)?$/);

const URIS = ['https://files.test/a', 'http://x.example:8080/b?c=d#e'];
const TIMES = ['2026-01-31T23:59:59Z', '2026-01-31T23:59:59.123+01:00'];

function valid(schema: Schema): fc.Arbitrary<unknown> {
  if ('anyOf' in schema) return fc.oneof(...schema.anyOf.map(valid));
  switch (schema.type) {
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -1000, max: schema.maximum ?? 2 ** 31 });
    case 'number':
      return fc.double({ min: schema.minimum ?? -1000, max: schema.maximum ?? 2 ** 31, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array': {
      const { minItems = 0, maxItems = 3 } = schema;
      return fc.array(valid(schema.items), {
        minLength: minItems,
        maxLength: Math.min(maxItems, minItems + 3),
      });
    }
    case 'object': {
      if (!('properties' in schema))
        return fc.dictionary(fc.string(), valid(schema.additionalProperties), {
          maxKeys: 3,
          noNullPrototype: true,
        });
      const fields = Object.entries(schema.properties).map(([name, inner]) => [name, valid(inner)] as const);
      return fc.record(Object.fromEntries(fields), {
        requiredKeys: [...schema.required],
        noNullPrototype: true,
      });
    }
    case 'string':
    default:
      return schema.type === 'string' ? validString(schema) : fc.option(validString(schema));
  }
}

function validString(schema: StringSchema): fc.Arbitrary<string> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.pattern !== undefined) return fc.stringMatching(new RegExp(schema.pattern, 'u'));
  if (schema.format !== undefined) return fc.constantFrom(...(schema.format === 'uri' ? URIS : TIMES));
  const { minLength = 0, maxLength = 40 } = schema;
  return fc.string({ minLength, maxLength: Math.min(maxLength, minLength + 40) });
}

/** Values of other types and forms. */
const ODD = fc.constantFrom<unknown>(
  '',
  ' ',
  'nope',
  'ftp://files.test/a',
  -1,
  1.5,
  2 ** 31,
  true,
  null,
  {},
  [],
  [null],
  ['x'],
  { type: 'x' },
);

/** Values just within and just beyond the limits of the schema. */
function boundaries(schema: Schema | undefined): fc.Arbitrary<unknown> {
  if (schema === undefined || 'anyOf' in schema) return ODD;
  switch (schema.type) {
    case 'array': {
      const { minItems = 1, maxItems = 20 } = schema;
      return fc
        .constantFrom(minItems - 1, minItems, maxItems, maxItems + 1)
        .chain((length) => valid(schema.items).map((item) => Array.from({ length }, () => item)));
    }
    case 'integer':
    case 'number': {
      const { minimum = 0, maximum = 2 ** 31 } = schema;
      return fc.constantFrom(minimum, minimum - 1, maximum, maximum + 1);
    }
    case 'object':
    case 'boolean':
    case 'null':
      return ODD;
    case 'string':
    default: {
      const { minLength = 0, maxLength = 0 } = schema;
      const lengths = [minLength - 1, minLength, maxLength, maxLength + 1].filter((length) => length >= 0);
      return fc.constantFrom(...lengths.map((length) => 'x'.repeat(length)));
    }
  }
}

function schemaAt(schema: Schema | undefined, [name, ...rest]: readonly string[]): Schema | undefined {
  if (name === undefined || schema === undefined || 'anyOf' in schema) return schema;
  if (schema.type === 'array') return schemaAt(schema.items, rest);
  if (schema.type !== 'object') return undefined;
  return schemaAt('properties' in schema ? schema.properties[name] : schema.additionalProperties, rest);
}

/** Every path of a value, the value itself included. */
function pathsOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  const inner = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return [path, ...inner.flatMap(([name, entry]) => pathsOf(entry, [...path, name]))];
}

/** Returns a copy with another value at the path; `undefined` removes it. */
function changed(value: unknown, [name, ...rest]: readonly string[], to: unknown): unknown {
  if (name === undefined) return to;
  const entries = Object.entries(Object(value)).flatMap(([key, entry]): [string, unknown][] => {
    const next = key === name ? changed(entry, rest, to) : entry;
    return next === undefined ? [] : [[key, next]];
  });
  return Array.isArray(value) ? entries.map(([, entry]) => entry) : Object.fromEntries(entries);
}

/** `null` counts as absent in an optional property, which JSON Schema cannot say. */
function withoutOptionalNulls(schema: Schema, value: unknown): unknown {
  if ('anyOf' in schema) {
    const fitting = schema.anyOf.find((inner) => checkAgainst(inner, value).ok);
    return fitting === undefined ? value : withoutOptionalNulls(fitting, value);
  }
  if (schema.type === 'array' && Array.isArray(value))
    return value.map((entry) => withoutOptionalNulls(schema.items, entry));
  if (schema.type !== 'object' || !('properties' in schema) || !isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, entry]) => {
      const inner = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
      if (inner === undefined) return [[name, entry]];
      if (entry === null && !schema.required.includes(name)) return [];
      return [[name, withoutOptionalNulls(inner, entry)]];
    }),
  );
}

describe.each(SCHEMAS)('the schema of %s', (_type, schema) => {
  const validate = ajv.compile(schema);

  it('accepts every valid value, as Ajv does, and returns it unchanged', () => {
    fc.assert(
      fc.property(valid(schema), (value) => {
        expect(validate(value), ajv.errorsText(validate.errors)).toBe(true);
        expect(checkAgainst(schema, value)).toEqual({ ok: true, value });
      }),
    );
  });

  it('gives the verdict of Ajv on a value with one field changed or removed', () => {
    const verdicts = { accepted: 0, rejected: 0 };
    fc.assert(
      fc.property(
        valid(schema)
          .chain((value) => fc.tuple(fc.constant(value), fc.constantFrom(...pathsOf(value))))
          .chain(([value, path]) =>
            fc.tuple(
              fc.constant(value),
              fc.constant(path),
              fc.oneof(ODD, boundaries(schemaAt(schema, path)), fc.constant(undefined)),
            ),
          ),
        ([value, path, to]) => {
          const mutated = changed(value, path, to);
          const { ok } = checkAgainst(schema, mutated);
          const expected = validate(withoutOptionalNulls(schema, mutated));
          expect(ok, ajv.errorsText(validate.errors)).toBe(expected);
          verdicts[ok ? 'accepted' : 'rejected']++;
        },
      ),
      { numRuns: 500 },
    );
    expect(Math.min(verdicts.accepted, verdicts.rejected)).toBeGreaterThan(0);
  });
});

it('a string is limited in UTF-16 code units and must be well-formed, unlike in JSON Schema', () => {
  const schema = { type: 'string', maxLength: 2 } as const;
  expect(checkAgainst(schema, '😀')).toEqual({ ok: true, value: '😀' });
  expect(checkAgainst(schema, '😀😀').ok).toBe(false);
  expect(checkAgainst(schema, '\ud800').ok).toBe(false);
});

describe('a failure names the path and the rule, never the value', () => {
  const value = { name: 'a', ratio: 0, seats: 1, tags: ['x'], counts: {}, owner: null };
  it.each([
    [{ name: 'Secret' }, 'name', 'a name'],
    [{ ratio: 2 }, 'ratio', 'at most 1'],
    [{ tags: [] }, 'tags', 'an array of at least 1 entries'],
    [{ counts: { x: 'secret' } }, 'counts.x', 'an integer'],
    [{ owner: { id: 1 } }, 'owner.id', 'a string'],
    [
      { colour: 'secret' },
      'colour',
      'left out; only name, ratio, seats, tags, counts, owner, way may be given',
    ],
  ])('%j', (change, path, rule) => {
    expect(checkAgainst(EVERY_KIND, { ...value, ...change })).toMatchObject({ ok: false, path, rule });
  });
});
