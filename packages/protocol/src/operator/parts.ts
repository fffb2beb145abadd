import { nullable, object } from '../schema.ts';

export const text = { type: 'string' } as const;
export const flag = { type: 'boolean' } as const;
export const count = { type: 'integer', minimum: 0 } as const;
export const time = { type: 'string', format: 'date-time' } as const;
export const textOrNull = nullable(text);
export const timeOrNull = nullable(time);
export const countOrNull = nullable(count);

export const oneOf = /* @__NO_SIDE_EFFECTS__ */ <const E extends readonly string[]>(...values: E) =>
  ({ type: 'string', enum: values }) as const;
export const atMost = /* @__NO_SIDE_EFFECTS__ */ <const N extends number>(maxLength: N) =>
  ({ type: 'string', maxLength }) as const;
export const upTo = /* @__NO_SIDE_EFFECTS__ */ <const N extends number>(maximum: N) =>
  ({ type: 'integer', minimum: 1, maximum }) as const;

export const locationId = {
  type: 'string',
  maxLength: 256,
  pattern: '^[^\\p{Cc}]+$',
  description: 'the id of a location',
} as const;
export const label = {
  type: 'string',
  maxLength: 200,
  pattern: '^(?=.*\\S)\\P{Cc}*$',
  description: 'a text that is not blank and does not contain control characters',
} as const;
/** The id of a row of the service. */
export const rowId = { type: 'string', pattern: '^[\\w-]{1,64}$', description: 'an id' } as const;
export const cursor = atMost(1024);
/** The entries of a page, unless `limit` asks for fewer. */
export const MAX_PAGE = 1000;
/** The query of a list that can grow: `after` is the `next` of the page before. */
export const page = { limit: upTo(MAX_PAGE), after: cursor } as const;
/** Present when the list goes on after this page. */
export const next = { next: text } as const;
/** A phone number or an email address. */
export const handle = atMost(256);

export const problem = object({ kind: text, sentence: text, since: timeOrNull });
/** Whether messages of a location go through; null before its first connection. */
export const liveness = nullable(
  object({ state: oneOf('alive', 'degraded', 'dead'), reason: nullable(problem) }),
);

export const optOut = object({
  locationId: text,
  hash: text,
  source: oneOf('crm', 'word', 'operator'),
  since: time,
});

/** The facts of a step or of an entry in the audit log. */
export const detail = nullable({
  type: 'object',
  additionalProperties: { anyOf: [text, { type: 'number' }, flag, { type: 'null' }] },
});
