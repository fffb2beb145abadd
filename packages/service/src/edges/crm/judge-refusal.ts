import { parseRetryAfter } from '@footbridge/protocol/retry-after';

import type { HttpResponse } from './transport.ts';

/** What an answer outside of 2xx means for the call that got it. */
export type Judgement =
  /** The token is spent: one refresh and one more try. */
  | { readonly kind: 'token_refused' }
  /** The message is so new that the CRM does not let its status be changed yet. */
  | { readonly kind: 'not_yet' }
  /** May pass; `waitMs` when the CRM said how long it wants to be left alone. */
  | { readonly kind: 'later'; readonly waitMs?: number }
  /** For good. */
  | { readonly kind: 'refused' };

const LATER: Judgement = { kind: 'later' };
const REFUSED: Judgement = { kind: 'refused' };
const TOKEN_REFUSED: Judgement = { kind: 'token_refused' };
const NOT_YET: Judgement = { kind: 'not_yet' };

// 401s which a fresh token does not heal: wrong scope, wrong kind of token, no Version header, a message that is not ours.
const NOT_THE_TOKEN =
  /not authorized for this scope|user type mismatch|authclass type is not allowed|version header|no message found/i;
const TOO_EARLY = /no conversation provider found for this message/i;
const MAX_WAIT_MS = 600_000;

export function judgeRefusal(answer: HttpResponse, words: string, now: number): Judgement {
  const { status } = answer;
  if (status === 401) return NOT_THE_TOKEN.test(words) ? REFUSED : TOKEN_REFUSED;
  if (status === 403) return TOO_EARLY.test(words) ? NOT_YET : REFUSED;
  if (status === 429)
    return { kind: 'later', waitMs: Math.min(askedWait(answer.headers, now) ?? 1000, MAX_WAIT_MS) };
  if (status >= 500) {
    const waitMs = parseRetryAfter(answer.headers.get('retry-after'), now);
    return waitMs === undefined ? LATER : { kind: 'later', waitMs: Math.min(waitMs, MAX_WAIT_MS) };
  }
  // A redirect is no answer of the CRM's: it says that the address is wrong or something stands in between.
  if (status === 408 || status === 425 || status < 400) return LATER;
  return REFUSED;
}

function askedWait(headers: HttpResponse['headers'], now: number): number | undefined {
  const interval = Number(headers.get('x-ratelimit-interval-milliseconds'));
  return (
    parseRetryAfter(headers.get('retry-after'), now) ??
    (Number.isFinite(interval) && interval > 0 ? interval : undefined)
  );
}
