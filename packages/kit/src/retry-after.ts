import { parseRetryAfter } from '@footbridge/protocol/retry-after';

/** How long a response asks to wait: `Retry-After`, else `RateLimit-Reset`. */
export const waitAskedFor = (headers: Headers, now: number): number | undefined =>
  parseRetryAfter(headers.get('retry-after'), now) ?? parseRetryAfter(headers.get('ratelimit-reset'), now);
