import { nullable, object } from '../schema.ts';
import { countOrNull, detail, oneOf, text, textOrNull, time } from './parts.ts';

/** The data of an event of `GET /operator/events`. */
export const messageEvent = object({
  at: time,
  id: text,
  step: text,
  status: textOrNull,
  code: textOrNull,
  detail,
  direction: nullable(oneOf('outbound', 'inbound')),
  locationId: textOrNull,
  messageId: textOrNull,
  kind: textOrNull,
  phone: textOrNull,
  length: countOrNull,
});
