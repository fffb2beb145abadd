/** Hours of each day in which no alerts are sent. Minutes since midnight; they may span midnight. */
export interface QuietHours {
  readonly from: number;
  readonly until: number;
  readonly timeZone: string;
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
