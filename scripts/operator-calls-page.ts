// The table of the operator calls in docs/wire.md, made from their definitions.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { changesSomething } from '@footbridge/protocol/operator/call';
import type { Call } from '@footbridge/protocol/operator/call';
import { OPERATOR_CALLS } from '@footbridge/protocol/operator/calls';
import { macState } from '@footbridge/protocol/operator/mac-state';
import type { Schema } from '@footbridge/protocol/schema';

const PAGE = 'docs/wire.md';
const START =
  '<!-- Operator calls, made from packages/protocol/src/operator by `npm run check -- --write`. -->';
const END = '<!-- End of the operator calls. -->';

export function wirePage(root: string): string {
  const page = readFileSync(join(root, PAGE), 'utf8');
  const [start, end] = [page.indexOf(START), page.indexOf(END)];
  if (start === -1 || end === -1) throw new Error(`${PAGE} has no markers for the operator calls`);
  const rows = OPERATOR_CALLS.toSorted(byPath).map((call) => `| ${cells(call).join(' | ')} |`);
  const table = [
    '| call | read-only | limited | request | response |',
    '|---|---|---|---|---|',
    ...rows,
  ].join('\n');
  return `${page.slice(0, start)}${START}\n\n${table}\n\n${page.slice(end)}`;
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

const byPath = (one: Call, other: Call): number =>
  one.path.localeCompare(other.path) || METHODS.indexOf(one.method) - METHODS.indexOf(other.method);

function cells(call: Call): string[] {
  const { query, body, response, status } = call;
  const shapes = { query: shapeOf(query), body: shapeOf(body), response: shapeOf(response) };
  const answer = [status === 200 ? '' : String(status), shapes.response].filter(Boolean).join(' ');
  const result = [`${call.summary}.`, answer === '' ? '' : `${answer}.`, call.notes ?? ''];
  return [
    `\`${call.method} ${call.path}\``,
    call.method === 'GET' ? 'yes' : 'no',
    mustName(call) ? LIMITED.named : LIMITED[call.locations],
    [shapes.query && `query ${shapes.query}`, shapes.body].filter(Boolean).join(' '),
    result.filter(Boolean).join(' '),
  ];
}

/** What a token for some locations may do with a call. */
const LIMITED = { none: 'no', named: '`locationId`', filtered: 'own' } as const;

/** A change of what belongs to the locations of a token names one of them: an absent one would mean all. */
const mustName = (call: Call): boolean =>
  changesSomething(call) &&
  call.body !== undefined &&
  'properties' in call.body &&
  Object.hasOwn(call.body.properties, 'locationId');

const shapeOf = (schema: Schema | undefined): string =>
  schema === undefined
    ? ''
    : alternatives(schema)
        .map((each) => `\`${shape(each)}\``)
        .join(' or ');

const alternatives = (schema: Schema): readonly Schema[] => ('anyOf' in schema ? schema.anyOf : [schema]);

/** The names of the fields: `{id, seats: {used, max}, label?}`. */
function shape(schema: Schema): string {
  // The page describes the frame.
  if (schema === macState) return '';
  if ('anyOf' in schema) return schema.anyOf.map(shape).find((text) => text !== '') ?? '';
  if (schema.type === 'array') {
    const inner = shape(schema.items);
    return inner === '' ? '' : `[${inner}]`;
  }
  if (schema.type !== 'object' || !('properties' in schema)) return '';
  const fields = Object.entries(schema.properties).map(([name, inner]) => {
    const text = shape(inner);
    return `${name}${schema.required.includes(name) ? '' : '?'}${text === '' ? '' : `: ${text}`}`;
  });
  return `{${fields.join(', ')}}`;
}
