const DELAY_SECONDS = /^\d{1,9}$/;
/** Every HTTP date format starts with a day name. `Date.parse` alone would also accept numbers such as `1.5`. */
const DAY_NAME = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

/**
 * Parses a `Retry-After` header (RFC 9110 §10.2.3), which is a number of seconds or an HTTP date. Returns the delay in
 * milliseconds, 0 for a date in the past, or undefined if the header is absent or invalid.
 */
export function parseRetryAfter(header: string | null | undefined, now: number): number | undefined {
  const value = header?.trim() ?? '';
  if (DELAY_SECONDS.test(value)) return Number(value) * 1000;
  const date = DAY_NAME.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
