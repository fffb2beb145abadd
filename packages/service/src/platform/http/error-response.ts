import type { Verdict } from '../limits/limits.ts';

/** A request that is not served, in the terms of the error catalogue. */
export interface HttpError {
  readonly status: number;
  /** The `error` field. */
  readonly label: string;
  readonly code?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly retryAfterSec?: number | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ErrorResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** The Retry-After of a 503 that does not set one. */
const UNAVAILABLE_SEC = 5;

/** Renders an error as JSON; only the OAuth page renders one as HTML. A 5xx shows the id it is logged under and nothing about the cause (W19). */
export function errorResponse(error: HttpError, requestId?: string): ErrorResponse {
  const { status, label, code, details } = error;
  const retryAfterSec = error.retryAfterSec ?? (status === 503 ? UNAVAILABLE_SEC : undefined);
  return {
    status,
    headers: {
      ...error.headers,
      ...(retryAfterSec !== undefined && { 'Retry-After': String(retryAfterSec) }),
    },
    body: JSON.stringify({
      error: label,
      code,
      ...details,
      ...(status >= 500 && requestId !== undefined && { requestId }),
    }),
  };
}

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
