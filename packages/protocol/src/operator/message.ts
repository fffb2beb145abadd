import { list, object } from '../schema.ts';
import { countOrNull, detail, oneOf, text, textOrNull, time } from './parts.ts';

export const message = {
  id: text,
  direction: oneOf('outbound', 'inbound'),
  locationId: text,
  messageId: textOrNull,
  messageGuid: textOrNull,
  kind: text,
  phone: textOrNull,
  length: countOrNull,
  status: text,
  code: textOrNull,
  createdAt: time,
  updatedAt: time,
};

/** A message with its history, and its text while its location is captured. */
export const trail = {
  ...message,
  steps: list(object({ at: time, step: text, detail })),
  text: textOrNull,
};
