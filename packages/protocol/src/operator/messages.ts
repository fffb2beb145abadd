import { list, object, strict } from '../schema.ts';
import { call } from './call.ts';
import { message, trail } from './message.ts';
import { atMost, count, cursor, handle, oneOf, text, textOrNull, time, timeOrNull, upTo } from './parts.ts';

export const listMessages = call('GET', '/operator/messages', {
  summary: 'The journal, newest first',
  locations: 'filtered',
  query: strict(
    {},
    {
      locationId: atMost(256),
      status: atMost(256),
      direction: oneOf('outbound', 'inbound'),
      kind: atMost(256),
      code: atMost(256),
      phone: handle,
      contactId: atMost(256),
      from: time,
      until: time,
      cursor,
      limit: upTo(200),
    },
  ),
  response: object({ messages: list(object(message)), cursor: textOrNull }),
  notes:
    '`limit` is 50 by default. `phone` is the complete number, with or without its country code; numbers that a Mac reported without one are found too. `messageGuid` is the GUID of the Mac, or null.',
});

export const showMessage = call('GET', '/operator/messages/:id', {
  summary: 'A message with its steps',
  locations: 'filtered',
  query: strict({}, { all: oneOf('true') }),
  response: object({ ...trail, capturedUntil: timeOrNull, requests: list(object(trail)) }),
  errors: ['NOT_FOUND'],
  notes:
    'The id is a `requestId`, an inbound id, a `messageId`, or the GUID of an inbound message. `requests` has the same for every entry of this location and direction with that `messageId` or GUID, oldest first, at most the newest 100; the message itself is the newest. For a `requestId` or an inbound id it has only this one, unless `all` is given. `text` is null unless the message passed while its location was captured; `capturedUntil` is the end of the capture, or null.',
});

export const redeliverMessage = call('POST', '/operator/messages/:id/redeliver', {
  summary:
    'Ask the Mac for an undelivered inbound message again, or allow another attempt for an outbound one',
  locations: 'filtered',
  status: 202,
  response: object({ id: text, locationId: text, seq: count }),
  errors: ['NOT_FOUND', 'CONFLICT'],
  notes:
    '409 `CONFLICT` unless it is an undelivered inbound message whose Mac is connected, or an outbound message that was set aside (`SET_ASIDE`). The text of an outbound message is not stored: from now on it is handled when the CRM sends it again, and `seq` is 0.',
});
