/** Requires a time zone: without one, the value would depend on the machine. */
const ISO_DATE = /^\d{4}-\d\d-\d\dT[\d:.]{5,18}(?:Z|[+-]\d\d:?\d\d)$/;
/** A number outside these years is not in milliseconds. */
const MIN_TIME = Date.UTC(2020);
const MAX_TIME = Date.UTC(2200);

/** Parses a time from the CRM, an ISO 8601 date or milliseconds since 1970. Returns milliseconds, or undefined for anything else. */
export function readTime(value: unknown): number | undefined {
  const at = typeof value === 'string' && ISO_DATE.test(value) ? Date.parse(value) : value;
  return typeof at === 'number' && at > MIN_TIME && at < MAX_TIME ? at : undefined;
}
