/** Times are printed in the time zone of the process; `--utc` sets it to UTC (main.ts). */

const pad = (value: number, size = 2) => String(value).padStart(size, '0');

/** Formats the date, such as `2026-01-31`. */
function localDate(iso: string): string {
  const at = new Date(iso);
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
}

/** Formats the time of day, such as `12:00:00`; with `exact`, with milliseconds. */
export function clock(iso: string, exact = false): string {
  const at = new Date(iso);
  const time = `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  return exact ? `${time}.${pad(at.getMilliseconds(), 3)}` : time;
}

/** Formats date, time and time zone, such as `2026-01-31 12:00:00 +01:00`. */
export const localTime = (iso: string): string => `${localDate(iso)} ${clock(iso)} ${zone(new Date(iso))}`;

function zone(at: Date): string {
  const ahead = -at.getTimezoneOffset();
  if (ahead === 0) return 'UTC';
  const minutes = Math.abs(ahead);
  return `${ahead < 0 ? '-' : '+'}${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`;
}
