import { isObject } from '@footbridge/protocol/schema';

const LONGEST = 160;
/** A run of this many characters of what we sent is a quotation; shorter ones are words that anybody uses. */
const QUOTATION = 8;
const NUMBERS = /\+?\d[\d ().-]{5,}\d/g;
const ADDRESSES = /[^\s@"'<>]+@[^\s@"'<>]+/g;
// eslint-disable-next-line no-control-regex -- terminals and log readers act on these
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;

/** The JSON of an answer, or undefined. */
export function readJson(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The CRM's words as they may be shown and kept: whatever we sent (texts, tokens, ids of people) is cut out of them, whole or in part,
 * as are numbers and addresses. They end up in logs, in the journal and on the Mac.
 */
export function presentable(crmWords: string, sent: readonly string[]): string {
  let words = crmWords
    .slice(0, 2 * LONGEST)
    .toWellFormed()
    .replace(CONTROLS, ' ')
    .trim();
  for (const secret of sent) {
    if (secret.length > 3) words = words.replaceAll(secret, '…');
    if (secret.length > QUOTATION) words = withoutQuotations(words, secret);
  }
  return words.replace(ADDRESSES, '…').replace(NUMBERS, '…').slice(0, LONGEST);
}

/** Without the parts of `secret` that the CRM quotes: `message "Dear Jo, your …" is too long`. */
function withoutQuotations(words: string, secret: string): string {
  let rest = words;
  for (let start = 0; start + QUOTATION <= rest.length; start++) {
    let end = start + QUOTATION;
    if (!secret.includes(rest.slice(start, end))) continue;
    while (end < rest.length && secret.includes(rest.slice(start, end + 1))) end++;
    rest = `${rest.slice(0, start)}…${rest.slice(end)}`;
  }
  return rest;
}

/** What the CRM says in a refusal, for reading its meaning only: it may hold anything. */
export function wordsOf(body: unknown): string {
  if (!isObject(body)) return '';
  const { message, error_description: description, error } = body;
  if (typeof message === 'string') return message;
  if (Array.isArray(message)) return message.filter((part) => typeof part === 'string').join('; ');
  if (typeof description === 'string') return description;
  return typeof error === 'string' ? error : '';
}

/** Every text inside a JSON body we sent. */
export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value, ...value.split('\n')];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}
