import {
  badRequest,
  EXPIRED,
  INVALID_TOKEN,
  NO_VERSION,
  NOT_IN_SCOPE,
  tooManyRequests,
  unauthorized,
  WRONG_AUTH_CLASS,
  WRONG_USER_TYPE,
} from './responses.ts';
import type { CrmResponse } from './responses.ts';
import type { TokenIdentity, TokenCheck } from './grants.ts';
import type { CrmSettings } from './types.ts';

/** The type of token that a route requires. Private integration tokens count as `location`; `app` excludes them. */
export interface Access {
  readonly for: 'location' | 'company' | 'app';
  readonly scope: string;
}

const VERSIONS = new Set(['2021-04-15', '2021-07-28', '2023-02-21', 'v3']);

export function checkVersion(version: string | undefined): CrmResponse | undefined {
  if (version === undefined || version === '') return unauthorized(NO_VERSION);
  if (!VERSIONS.has(version)) return badRequest(`Invalid API version segment '${version}' at position 0`);
  return undefined;
}

export function checkToken(check: TokenCheck, access: Access): CrmResponse | TokenIdentity {
  if (check.state === 'expired') return unauthorized(EXPIRED);
  if (check.state === 'unknown') return unauthorized(INVALID_TOKEN);
  const { identity } = check;
  if (access.for === 'company' && identity.userType !== 'Company') return unauthorized(WRONG_USER_TYPE);
  if (access.for !== 'company' && identity.userType === 'Company') return unauthorized(WRONG_AUTH_CLASS);
  if (access.for === 'app' && identity.kind === 'pit') return unauthorized(NOT_IN_SCOPE);
  if (identity.scopes !== 'all' && !identity.scopes.includes(access.scope)) return unauthorized(NOT_IN_SCOPE);
  return identity;
}

/** A burst limit and a daily limit per location. Every response reports them in headers. */
export class RateLimits {
  readonly #settings: CrmSettings;
  readonly #now: () => number;
  readonly #windows = new Map<string, { startedAt: number; used: number; day: number; usedToday: number }>();

  constructor(settings: CrmSettings, now: () => number) {
    this.#settings = settings;
    this.#now = now;
  }

  take(resource: string): { headers: Record<string, string>; error: CrmResponse | undefined } {
    const limit = this.#settings.rateLimit;
    if (!limit) return { headers: {}, error: undefined };
    const window = this.#window(resource, limit.intervalMs);
    const full = window.used >= limit.max || window.usedToday >= limit.daily;
    if (!full) {
      window.used++;
      window.usedToday++;
    }
    return {
      headers: {
        'X-RateLimit-Limit-Daily': String(limit.daily),
        'X-RateLimit-Daily-Remaining': String(Math.max(0, limit.daily - window.usedToday)),
        'X-RateLimit-Interval-Milliseconds': String(limit.intervalMs),
        'X-RateLimit-Max': String(limit.max),
        'X-RateLimit-Remaining': String(Math.max(0, limit.max - window.used)),
      },
      error: full ? tooManyRequests() : undefined,
    };
  }

  #window(resource: string, intervalMs: number) {
    const now = this.#now();
    const day = Math.floor(now / 86_400_000);
    const last = this.#windows.get(resource);
    const usedToday = last?.day === day ? last.usedToday : 0;
    const window =
      last && now - last.startedAt < intervalMs
        ? { ...last, day, usedToday }
        : { startedAt: now, used: 0, day, usedToday };
    this.#windows.set(resource, window);
    return window;
  }
}
