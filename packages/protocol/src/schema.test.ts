import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { FRAME_SHAPES } from './frames.ts';
import { checkAgainst, isObject } from './schema.ts';
import type { ObjectSchema, Schema, StringSchema } from './schema.ts';

const SCHEMAS = Object.entries<ObjectSchema>({ ...FRAME_SHAPES.mac, ...FRAME_SHAPES.service });

const ajv = new Ajv({ allowUnionTypes: true });
addFormats.default(ajv, ['date-time']);
// Frames carry web addresses only.
ajv.addFormat('uri', /^https?:\/\/[^\s/]+(\/\S*)?$/);

const URIS = ['https://files.test/a', 'http://x.example:8080/b?c=d#e'];
const TIMES = ['2026-01-31T23:59:59Z', '2026-01-31T23:59:59.123+01:00'];

function valid(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.type === 'integer') return fc.integer({ min: schema.minimum ?? -1000 });
  if (schema.type === 'boolean') return fc.boolean();
  if (schema.type === 'array')
    return fc.array(valid(schema.items), { maxLength: Math.min(schema.maxItems, 3) });
  if (schema.type === 'object') {
    const fields = Object.entries(schema.properties).map(([name, inner]) => [name, valid(inner)] as const);
    return fc.record(Object.fromEntries(fields), { requiredKeys: [...schema.required] });
  }
  return schema.type === 'string' ? validString(schema) : fc.option(validString(schema));
}

function validString(schema: StringSchema): fc.Arbitrary<string> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
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
  if (schema?.type === 'array')
    return fc
      .constantFrom(schema.maxItems, schema.maxItems + 1)
      .chain((length) => valid(schema.items).map((item) => Array.from({ length }, () => item)));
  if (schema?.type === 'integer') {
    const { minimum = 0 } = schema;
    return fc.constantFrom(minimum, minimum - 1);
  }
  if (schema === undefined || schema.type === 'object' || schema.type === 'boolean') return ODD;
  const { minLength = 0, maxLength = 0 } = schema;
  const lengths = [minLength - 1, minLength, maxLength, maxLength + 1].filter((length) => length >= 0);
  return fc.constantFrom(...lengths.map((length) => 'x'.repeat(length)));
}

function schemaAt(schema: Schema | undefined, [name, ...rest]: readonly string[]): Schema | undefined {
  if (name === undefined || schema === undefined) return schema;
  if (schema.type === 'array') return schemaAt(schema.items, rest);
  return schema.type === 'object' ? schemaAt(schema.properties[name], rest) : undefined;
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
  if (schema.type === 'array' && Array.isArray(value))
    return value.map((entry) => withoutOptionalNulls(schema.items, entry));
  if (schema.type !== 'object' || !isObject(value)) return value;
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
