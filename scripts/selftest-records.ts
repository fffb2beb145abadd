// Selftest records from owners of Macs.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { Ajv } from 'ajv';

/** The folder of the records. */
export const RECORDS = 'packages/agent/fixtures/selftest';

export interface SelftestRecord {
  readonly onMac: boolean;
  readonly macos: { readonly version: string };
  readonly steps: readonly { readonly name: string; readonly verdict: string }[];
  readonly tables?: Readonly<Record<string, readonly string[]>>;
  readonly windows?: {
    readonly labels: Readonly<Record<string, string | null>>;
    readonly elements: readonly { readonly identifier?: string }[];
  };
}

const TEXT = { type: 'string', maxLength: 300 };
const NUMBER = { type: 'number', minimum: 0 };
/** A name given by Apple: matches neither a number nor an address. */
const NAME = { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_.;+ -]{0,79}$' };
/** Keys of labels can have any characters, but must not contain an address or a number of a person. */
const KEYS = { type: 'array', items: { type: 'string', pattern: '^(?!.*(@|[0-9]{5})).{1,300}$' } };
const names = { type: 'array', items: NAME };
const record = (properties: object, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const byName = (value: object) => ({ type: 'object', propertyNames: NAME, additionalProperties: value });

const step = record(
  {
    name: NAME,
    verdict: { enum: ['verified', 'failed', 'skipped'] },
    code: NAME,
    reason: TEXT,
    tookMs: NUMBER,
  },
  ['name', 'verdict', 'tookMs'],
);
const element = record(
  {
    depth: NUMBER,
    role: NAME,
    subrole: NAME,
    identifier: NAME,
    labels: KEYS,
    isSelected: { const: true },
    actions: KEYS,
    children: NUMBER,
  },
  ['depth', 'role', 'actions', 'children'],
);
const SCHEMA = record(
  {
    format: { const: 1 },
    agent: { type: 'string', pattern: '^\\d+\\.\\d+\\.\\d+' },
    onMac: { type: 'boolean' },
    macos: record({ version: { type: 'string', pattern: '^[\\d.]+$' }, build: { type: 'string' } }, [
      'version',
    ]),
    capabilities: names,
    steps: { type: 'array', items: step, minItems: 1 },
    tables: byName(names),
    services: names,
    attribution: record({ program: NAME, isApp: { type: 'boolean' } }),
    liveChats: record({ sameId: NUMBER, forms: byName(NUMBER) }),
    row: byName({ anyOf: [{ type: 'integer' }, { enum: ['number', 'text', 'bytes', null] }] }),
    folders: byName(NAME),
    times: record({ rowMs: NUMBER, sentMs: NUMBER, deliveredMs: NUMBER }, []),
    windows: record({
      language: { type: ['string', 'null'], maxLength: 20 },
      labels: byName({ type: ['string', 'null'], maxLength: 100 }),
      elements: { type: 'array', items: element, maxItems: 500 },
    }),
  },
  ['format', 'agent', 'onMac', 'macos', 'capabilities', 'steps'],
);
const validate = new Ajv({ allErrors: true, strict: false }).compile<SelftestRecord>(SCHEMA);

/** Parses a record. Throws an error that lists everything that does not match the schema. */
export function readRecord(name: string, text: string): SelftestRecord {
  const value: unknown = JSON.parse(text);
  if (validate(value)) return value;
  const problems = (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  throw new Error(`${name} is not a record of a selftest: ${problems.join(', ')}`);
}

/** Returns all records of a repository by their file names. */
export function readRecords(root: string): Map<string, SelftestRecord> {
  const folder = join(root, RECORDS);
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return new Map(files.map((name) => [name, readRecord(name, readFileSync(join(folder, name), 'utf8'))]));
}
