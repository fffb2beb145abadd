import { parseRetryAfter } from '@footbridge/protocol/retry-after';
import { isObject } from '@footbridge/protocol/schema';

import type { FailedAttempt } from '../../platform/retry/retry.ts';
import type { HttpResponse } from './transport-http.ts';

type Classified = Pick<FailedAttempt, 'retryable' | 'retryAfterMs' | 'inDoubt'> & {
  readonly kind: 'token_expired' | 'not_yet' | 'http' | 'refused';
};

// 401s that a new token does not fix: wrong scope, wrong kind of token, no Version header, a message of another app.
const NOT_THE_TOKEN =
  /not authorized for this scope|user type mismatch|authclass type is not allowed|version header|no message found/i;
const TOO_NEW = /no conversation provider found for this message/i;
const MAX_WAIT_MS = 600_000;
const DEFAULT_429_WAIT_MS = 1000;

const REFUSED: Classified = { kind: 'refused', retryable: false };
const TOKEN_EXPIRED: Classified = { kind: 'token_expired', retryable: true };
const NOT_YET: Classified = { kind: 'not_yet', retryable: true };

/** What a response outside of 2xx means for the call. `message` is what the CRM says in its body. */
export function classifyResponse(
  { status, headers }: HttpResponse,
  message: string,
  now: number,
): Classified {
  if (status === 401) return NOT_THE_TOKEN.test(message) ? REFUSED : TOKEN_EXPIRED;
  if (status === 403) return TOO_NEW.test(message) ? NOT_YET : REFUSED;
  const retryAfter = parseRetryAfter(headers.get('retry-after'), now);
  if (status === 429) return retryLater(retryAfter ?? rateLimitInterval(headers) ?? DEFAULT_429_WAIT_MS);
  // The CRM, or a gateway in front of it, may fail after the request was carried out.
  if (status >= 500 || status === 408) return { ...retryLater(retryAfter), inDoubt: true };
  // A redirect does not come from the CRM: the address is wrong, or something is in between.
  return status === 425 || status < 400 ? retryLater() : REFUSED;
}

const retryLater = (waitMs?: number): Classified => ({
  kind: 'http',
  retryable: true,
  retryAfterMs: waitMs === undefined ? undefined : Math.min(waitMs, MAX_WAIT_MS),
});

function rateLimitInterval(headers: HttpResponse['headers']): number | undefined {
  const interval = Number(headers.get('x-ratelimit-interval-milliseconds'));
  return Number.isFinite(interval) && interval > 0 ? interval : undefined;
}

const MAX_LENGTH = 160;
/** This many consecutive characters of what was sent are a quotation; fewer are common words. */
const MIN_QUOTATION = 8;
/** A shorter text or line of a text is not a secret. */
const MIN_SECRET = 4;
const NUMBERS = /\+?\d[\d ().-]{5,}\d/g;
const ADDRESSES = /[^\s@"'<>]+@[^\s@"'<>]+/g;
/** Terminals and log readers act on these. */
const CONTROLS = /[\p{Cc}\u2028\u2029]+/gu;

/**
 * The CRM's message for logs, the journal and the Mac: whatever was sent (texts, tokens, ids of people) is removed from it, whole or in
 * part, and so are numbers and addresses. Takes time in proportion to what was sent: a CRM chooses its message, and a Mac its text.
 */
export function redactMessage(message: string, sent: readonly string[]): string {
  const shown = message
    .slice(0, 2 * MAX_LENGTH)
    .toWellFormed()
    .replace(CONTROLS, ' ')
    .trim();
  return withoutQuotations(shown, sent).replace(ADDRESSES, '…').replace(NUMBERS, '…').slice(0, MAX_LENGTH);
}

/** Removes the parts of what was sent that the CRM quotes: `message "Dear Jo, your …" is too long`. */
function withoutQuotations(message: string, sent: readonly string[]): string {
  const quoted = new Set<string>();
  const starts = startsOf(message);
  for (const text of sent) {
    addQuotations(text, starts, quoted);
    for (const line of text.split('\n'))
      if (line.length >= MIN_SECRET && line.length < MIN_QUOTATION) quoted.add(line);
  }
  if (quoted.size === 0) return message;
  const removed = new Uint8Array(message.length);
  for (let length = MIN_SECRET; length <= MIN_QUOTATION; length++)
    for (let start = 0; start + length <= message.length; start++)
      if (quoted.has(message.slice(start, start + length))) removed.fill(1, start, start + length);
  let rest = '';
  for (let index = 0; index < message.length; index++)
    if (removed[index] === 0) rest += message.charAt(index);
    else if (removed[index - 1] !== 1) rest += '…';
  return rest;
}

/** The first two characters of each place where a quotation may start, with the quotations that start so. */
function startsOf(message: string): Map<number, Set<string>> {
  const starts = new Map<number, Set<string>>();
  for (let start = 0; start + MIN_QUOTATION <= message.length; start++) {
    const pair = pairAt(message, start);
    const known = starts.get(pair) ?? new Set();
    starts.set(pair, known.add(message.slice(start, start + MIN_QUOTATION)));
  }
  return starts;
}

function addQuotations(text: string, starts: ReadonlyMap<number, Set<string>>, quoted: Set<string>): void {
  for (let start = 0; start + MIN_QUOTATION <= text.length; start++) {
    const candidates = starts.get(pairAt(text, start));
    if (candidates === undefined) continue;
    const part = text.slice(start, start + MIN_QUOTATION);
    if (candidates.has(part)) quoted.add(part);
  }
}

const pairAt = (text: string, start: number) => text.charCodeAt(start) * 65_536 + text.charCodeAt(start + 1);

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
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(stringsIn);
}
