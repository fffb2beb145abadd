import { existsSync, readFileSync, writeFileSync } from 'node:fs';

import { expect } from 'vitest';

/** UUIDs, ids of ours such as `lic_…`, keyed hashes, and ids of the CRM. */
const ID =
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[a-z]{3}_[\w-]{16}|(?<=")[\w-]{43}(?=")|(?<="(?:contactId|companyId|userId|crmMessageId|conversationId|messageId)":")\w{20}(?=")/gi;
const TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;
const LOOPBACK = /127\.0\.0\.1(?::|%3A)\d+/g;

/** Values that differ in each run and are neither an id nor a time. */
const VOLATILE = new Set([
  'ms',
  'uptimeSec',
  'code',
  'csrf',
  'key',
  'keyHint',
  'token',
  'p95Ms',
  'epoch',
  'clockSkewSec',
]);
const isVolatile = (name: string, value: unknown): boolean =>
  VOLATILE.has(name) &&
  (typeof value === 'number' || (typeof value === 'string' && !(name === 'code' && /^[A-Z_]+$/.test(value))));

function withoutVolatile(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutVolatile);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      isVolatile(name, inner) ? `<${name}>` : withoutVolatile(inner),
    ]),
  );
}

/** Replaces what differs between two runs: times, free ports, and random ids. The same id gets the same name throughout. */
export function stable(value: unknown, names: Map<string, string>): unknown {
  const named = (id: string) => {
    const known = names.get(id) ?? `<id ${names.size + 1}>`;
    names.set(id, known);
    return known;
  };
  let text = JSON.stringify(withoutVolatile(value)) ?? 'null';
  for (const [given, name] of names) if (!name.startsWith('<id')) text = text.replaceAll(given, name);
  return JSON.parse(text.replace(ID, named).replace(TIME, '<time>').replace(LOOPBACK, '<address>'));
}

/** Compares with a recorded file. `RECORD_GOLDEN=1` records it again: use it only for an intended change. */
export function expectGolden(name: string, value: unknown): void {
  const file = new URL(`golden/${name}.json`, import.meta.url);
  const text = `${JSON.stringify(value, null, 1)}\n`;
  if (process.env['RECORD_GOLDEN'] === '1' || !existsSync(file)) writeFileSync(file, text);
  expect(JSON.parse(text)).toEqual(JSON.parse(readFileSync(file, 'utf8')));
}
