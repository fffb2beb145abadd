/** How long an answer asks to wait, in milliseconds: `Retry-After` in either form, else `RateLimit-Reset`. */
export function waitAskedFor(headers: Headers, now: number): number | undefined {
  const retryAfter = headers.get('retry-after');
  const reset = headers.get('ratelimit-reset');
  return seconds(retryAfter) ?? untilDate(retryAfter, now) ?? seconds(reset);
}

function seconds(value: string | null): number | undefined {
  return value !== null && /^\d{1,9}$/.test(value.trim()) ? Number(value) * 1000 : undefined;
}

function untilDate(value: string | null, now: number): number | undefined {
  const date = value === null ? Number.NaN : Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
