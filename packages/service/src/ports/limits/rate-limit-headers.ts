import type { Verdict } from './limits.ts';

/** What a caller is told about its limit (L2); a refused one also learns how long to wait. */
export function rateLimitHeaders(verdict: Verdict): Record<string, string> {
  const headers: Record<string, string> = {
    'RateLimit-Limit': String(verdict.limit),
    'RateLimit-Remaining': String(verdict.remaining),
    'RateLimit-Reset': String(verdict.resetSec),
  };
  if (!verdict.allowed) headers['Retry-After'] = String(verdict.resetSec);
  return headers;
}
