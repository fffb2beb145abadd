import { list, nullable, object, strict } from '../schema.ts';
import { call } from './call.ts';
import {
  atMost,
  count,
  flag,
  handle,
  next,
  oneOf,
  optOut,
  page,
  text,
  textOrNull,
  time,
  upTo,
} from './parts.ts';
import { trail } from './message.ts';

const MAX_ROWS = 2000;

export const askReach = call('GET', '/operator/locations/:locationId/reach', {
  summary: 'Whether a person is reached by iMessage or SMS',
  locations: 'named',
  query: strict({ phone: handle }),
  response: object({ phone: text, reach: oneOf('iMessage', 'SMS', 'unknown'), reason: text, at: time }),
  errors: ['CONFLICT'],
  notes:
    '`phone` is masked, and `at` is when the Mac replied. `iMessage` and `SMS` are kept in memory for an hour. 409 `CONFLICT` when no Mac is connected. [What the Mac goes by](operate.md#imessage-or-sms).',
});

export const startCapture = call('PUT', '/operator/locations/:locationId/capture', {
  summary: 'Show the texts of a location for 15 minutes',
  locations: 'named',
  response: object({ locationId: text, until: time }),
  notes: '`GET /operator/messages/:id` then shows the texts of new messages, on all nodes.',
});

export const stopCapture = call('DELETE', '/operator/locations/:locationId/capture', {
  summary: 'Stop that; the texts are forgotten',
  locations: 'named',
  errors: ['NOT_FOUND'],
});

export const listOptOuts = call('GET', '/operator/opt-outs', {
  summary: 'The people who opted out, as hashes with the id of their key',
  locations: 'filtered',
  query: strict({}, { locationId: atMost(256), phone: handle, cursor: atMost(512), limit: upTo(MAX_ROWS) }),
  response: object({ key: text, optOuts: list(optOut), cursor: textOrNull }),
  notes: '`limit` is 200 by default. [Opt-outs](operate.md#opt-outs).',
});

export const decideOptOut = call('PUT', '/operator/locations/:locationId/opt-outs', {
  summary: 'Decide for one person, from now on',
  locations: 'named',
  body: strict({ phone: handle, optedOut: flag }),
});

const exported = strict({
  hash: { type: 'string', pattern: '^[\\w-]{1,64}$', description: 'a hash from an export' },
  source: oneOf('crm', 'word', 'operator'),
  since: time,
});

export const importOptOuts = call('POST', '/operator/locations/:locationId/opt-outs/import', {
  summary: 'Import opt-outs: numbers, or the export of a service with the same key',
  locations: 'named',
  body: {
    anyOf: [
      strict({ key: atMost(64), hashes: { type: 'array', items: exported, maxItems: MAX_ROWS } }),
      strict({ numbers: { type: 'array', items: handle, maxItems: MAX_ROWS } }, { decidedAt: time }),
    ],
  },
  bodyLimit: 393_216,
  response: object({ imported: count, invalid: list(count) }),
  errors: ['CONFLICT'],
  notes:
    '`invalid` has the positions of what is not a number. 409 `CONFLICT` for the export of a service with another key.',
});

const person = { phone: handle } as const;

export const exportPerson = call('POST', '/operator/privacy/export', {
  summary: 'What the service stores about one person',
  locations: 'filtered',
  reads: true,
  body: strict(person, { locationId: atMost(256), cursor: atMost(1024), limit: upTo(200) }),
  response: object(
    { messages: list(object(trail)), cursor: textOrNull },
    {
      contacts: list(object({ locationId: text, contactId: text })),
      files: list(
        object({
          id: text,
          locationId: text,
          name: text,
          contentType: text,
          size: count,
          sha256: text,
          url: text,
          createdAt: time,
          expiresAt: time,
        }),
      ),
      optOuts: list(optOut),
      reach: list(object({ locationId: text, fieldId: text, reach: text, since: time })),
    },
  ),
  notes: 'With `cursor`, only the next messages.',
});

export const erasePerson = call('POST', '/operator/privacy/erase', {
  summary: 'Erase it; opt-outs stay',
  locations: 'filtered',
  body: strict(person, { locationId: atMost(256) }),
  response: object({ messages: count, files: count, optOutsKept: count }),
  notes: 'A token for some locations must name one of them in `locationId`; otherwise the response is 403.',
});

const days = nullable(upTo(3650));
const retention = { locationId: text, journalDays: days, assetDays: days };

export const listRetention = call('GET', '/operator/privacy/retention', {
  summary: 'How long the data of locations is kept',
  locations: 'filtered',
  query: strict({}, page),
  response: object(
    {
      defaults: object({ journalDays: count, assetDays: count }),
      locations: list(object(retention)),
    },
    next,
  ),
  notes: 'Null means the default.',
});

export const setRetention = call('PUT', '/operator/privacy/retention/:locationId', {
  summary: 'Change that for one location',
  locations: 'named',
  body: strict({ journalDays: days, assetDays: days }),
  response: object(retention),
  notes: 'Null for the default.',
});
