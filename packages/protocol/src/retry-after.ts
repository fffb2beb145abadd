const SECONDS = /^\d{1,12}$/;
/** An HTTP date starts with the day's name; `Date.parse` alone would also accept `-5` and `1.5`. */
const DATE = /^[A-Za-z]{3,9},? /;

/** The wait a `Retry-After` header asks for, in either form of RFC 9110. Returns undefined without a valid header. */
export function parseRetryAfter(header: string | null | undefined, now: number): number | undefined {
  const value = header?.trim() ?? '';
  if (SECONDS.test(value)) return Number(value) * 1000;
  const date = DATE.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
