import { isObject } from '@footbridge/protocol/schema';

const MAX_LENGTH = 160;
/** This many characters in a row of what was sent are a quotation; fewer are common words. */
const MIN_QUOTATION = 8;
const NUMBERS = /\+?\d[\d ().-]{5,}\d/g;
const ADDRESSES = /[^\s@"'<>]+@[^\s@"'<>]+/g;
/** Terminals and log readers act on these. */
const CONTROLS = /[\p{Cc}\u2028\u2029]+/gu;

/** The JSON of a response body; undefined when it is not JSON. */
export function readJson(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The CRM's message for logs, the journal and the Mac: whatever was sent (texts, tokens, ids of people) is removed from it, whole or in
 * part, and so are numbers and addresses.
 */
export function redactMessage(message: string, sent: readonly string[]): string {
  let redacted = message
    .slice(0, 2 * MAX_LENGTH)
    .toWellFormed()
    .replace(CONTROLS, ' ')
    .trim();
  for (const secret of sent) {
    if (secret.length > 3) redacted = redacted.replaceAll(secret, '…');
    if (secret.length > MIN_QUOTATION) redacted = withoutQuotations(redacted, secret);
  }
  return redacted.replace(ADDRESSES, '…').replace(NUMBERS, '…').slice(0, MAX_LENGTH);
}

/** Removes the parts of `secret` that the CRM quotes: `message "Dear Jo, your …" is too long`. */
function withoutQuotations(message: string, secret: string): string {
  let rest = message;
  for (let start = 0; start + MIN_QUOTATION <= rest.length; start++) {
    let end = start + MIN_QUOTATION;
    if (!secret.includes(rest.slice(start, end))) continue;
    while (end < rest.length && secret.includes(rest.slice(start, end + 1))) end++;
    rest = `${rest.slice(0, start)}…${rest.slice(end)}`;
  }
  return rest;
}

/** The message in an error body. For classification only: it may quote anything that was sent. */
export function messageOf(body: unknown): string {
  if (!isObject(body)) return '';
  const { message, error_description: description, error } = body;
  if (typeof message === 'string') return message;
  if (Array.isArray(message)) return message.filter((part) => typeof part === 'string').join('; ');
  if (typeof description === 'string') return description;
  return typeof error === 'string' ? error : '';
}

/** Every string inside a JSON body that was sent. */
export function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value, ...value.split('\n')];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(stringsIn);
}
