import { signal } from '@preact/signals';

/** The current time, updated every five seconds. */
export const now = signal(Date.now());

export function startClock(): void {
  setInterval(() => (now.value = Date.now()), 5000);
}

export const clock = (at: number): string =>
  new Date(at)
    .toLocaleTimeString('en-US', { hour: 'numeric', minute: '2-digit', hour12: true })
    .replace(/ [AP]M$/, '');
