/** Daily hours in which nothing is sent, in minutes since midnight. They may span midnight. */
export interface QuietHours {
  readonly from: number;
  readonly until: number;
  readonly timeZone: string;
}

/** Parses `22:00-07:00` in the default time zone, or `22:00-07:00 Europe/Berlin`. Returns undefined for anything else. */
export function parseQuietHours(text: string, defaultZone: string): QuietHours | undefined {
  const [, fromHour, fromMinute, untilHour, untilMinute, timeZone = defaultZone] =
    /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)(?: (\S+))?$/.exec(text) ?? [];
  if (fromHour === undefined || !isTimeZone(timeZone)) return undefined;
  const from = Number(fromHour) * 60 + Number(fromMinute);
  const until = Number(untilHour) * 60 + Number(untilMinute);
  return from === until ? undefined : { from, until, timeZone };
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** Returns whether this time is within the quiet hours. */
export function isQuiet({ from, until, timeZone }: QuietHours, at: number): boolean {
  const minute = minuteOfDay(at, timeZone);
  return from < until ? minute >= from && minute < until : minute >= from || minute < until;
}

function minuteOfDay(at: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).formatToParts(at);
  const value = (type: string) => Number(parts.find((part) => part.type === type)?.value ?? 0);
  return value('hour') * 60 + value('minute');
}
