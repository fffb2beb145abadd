import type { Verdict } from '../limits/limits.ts';

/** The rate limit headers of a response (L2). A rejected caller also gets `Retry-After`. */
export function rateLimitHeaders(verdict: Verdict): Record<string, string> {
  const headers: Record<string, string> = {
    'RateLimit-Limit': String(verdict.limit),
    'RateLimit-Remaining': String(verdict.remaining),
    'RateLimit-Reset': String(verdict.resetSec),
  };
  if (!verdict.allowed) headers['Retry-After'] = String(verdict.resetSec);
  return headers;
}
