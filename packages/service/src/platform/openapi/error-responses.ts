import { CODES } from '@footbridge/protocol/codes';
import type { Channel, CodeEntry } from '@footbridge/protocol/codes';

import { list, object, text } from './json-schema.ts';
import type { JsonSchema } from './json-schema.ts';

type Responses = Record<string, JsonSchema>;

const RATE_HEADERS: Responses = {
  'RateLimit-Limit': { schema: { type: 'integer' }, description: 'Requests per minute.' },
  'RateLimit-Remaining': { schema: { type: 'integer' }, description: 'Requests left in this minute.' },
  'RateLimit-Reset': { schema: { type: 'integer' }, description: 'Seconds until the minute is over.' },
};
const RETRY_AFTER: Responses = {
  'Retry-After': { schema: { type: 'integer' }, description: 'Seconds to wait.' },
};
export const REQUEST_ID: Responses = {
  'X-Request-Id': {
    schema: { type: 'string', format: 'uuid' },
    description: 'The id of the request in the log.',
  },
};

/** The fields of a response with this code, besides `error` and `code`. */
const DETAILS: Readonly<Record<string, Responses>> = {
  MISSING_REQUIRED_FIELDS: {
    required: list(text(''), { description: 'The missing fields.' }),
    received: list(text(''), { description: 'The known fields in the request.' }),
  },
  MESSAGE_BODY_TOO_LONG: {
    received: { type: 'integer', description: 'Length of the message.' },
    limit: { type: 'integer' },
  },
  MESSAGE_TOO_OLD: {
    ageSec: { type: 'integer', description: 'Age of the message.' },
    limitSec: { type: 'integer' },
  },
  INVALID_ATTACHMENTS: { received: { type: 'integer', description: 'Index of the invalid entry.' } },
  LOCATION_NOT_CONNECTED: { locationId: text(''), message: text('') },
  TOO_MANY_REQUESTS: { message: text('') },
  SEATS_EXHAUSTED: { seats: object({ used: { type: 'integer' }, max: { type: 'integer' } }) },
  OAUTH_NOT_CONFIGURED: { missing: list(text('')) },
  INTERNAL_ERROR: { requestId: text('', { format: 'uuid' }) },
};

/** Returns the error responses with these codes, by status, from the catalogue of codes. */
export function errorResponses(channel: Channel, codes: readonly string[]): Responses {
  const entries = CODES.filter((entry) => entry.channel === channel && codes.includes(entry.code));
  const byStatus = Map.groupBy(entries, ({ http = 500 }) => String(http));
  return Object.fromEntries(
    byStatus.entries().map(([status, group]) => [status, response(channel, status, group)]),
  );
}

function response(channel: Channel, status: string, entries: readonly CodeEntry[]): JsonSchema {
  const bodies = entries.map(body);
  const limited = channel === 'webhook' && ['400', '404', '429', '503'].includes(status);
  return {
    description: entries.map(({ code, meaning }) => `\`${code}\`: ${meaning}`).join(' '),
    headers: {
      ...REQUEST_ID,
      ...(limited && RATE_HEADERS),
      ...(['429', '503'].includes(status) && RETRY_AFTER),
    },
    content: { 'application/json': { schema: bodies.length === 1 ? bodies[0] : { oneOf: bodies } } },
  };
}

function body({ code, label, advice }: CodeEntry): JsonSchema {
  const fixed = label !== undefined && !label.includes('<');
  return {
    ...object({
      error: text('Label; stable.', fixed ? { const: label } : {}),
      code: { const: code },
      ...DETAILS[code],
    }),
    description: advice,
  };
}

export { RATE_HEADERS };
