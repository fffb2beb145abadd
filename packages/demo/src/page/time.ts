import { signal } from '@preact/signals';

/** The current time, updated every five seconds. */
export const now = signal(Date.now());

export function startClock(): void {
  setInterval(() => (now.value = Date.now()), 5000);
}

/** When the page was opened. Older messages do not play their effects. */
export const OPENED = Date.now();

const DAY_MS = 86_400_000;

/** `Today 6:23 PM`, `Yesterday 6:23 PM` or `Nov 15, 6:23 PM`. */
export function dayAndTime(at: number): string {
  const time = new Date(at).toLocaleTimeString('en-US', { hour: 'numeric', minute: '2-digit' });
  const day = (moment: number) => new Date(moment).toDateString();
  if (day(at) === day(now.value)) return `Today ${time}`;
  if (day(at) === day(now.value - DAY_MS)) return `Yesterday ${time}`;
  return `${new Date(at).toLocaleDateString('en-US', { month: 'short', day: 'numeric' })}, ${time}`;
}

export const clock = (at: number): string =>
  new Date(at)
    .toLocaleTimeString('en-US', { hour: 'numeric', minute: '2-digit', hour12: true })
    .replace(/ [AP]M$/, '');
