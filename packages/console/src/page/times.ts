import { signal } from '@preact/signals';

const KEY = 'footbridge-utc';

export const isUtc = signal(localStorage.getItem(KEY) === 'yes');

export function toggleUtc(): void {
  isUtc.value = !isUtc.value;
  localStorage.setItem(KEY, isUtc.value ? 'yes' : 'no');
}

/** `Nov 15, 09:12:04`, in local time or UTC. */
export function timeText(iso: string, options: { readonly ms?: boolean } = {}): string {
  return new Date(iso).toLocaleString('en-US', {
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    ...(options.ms === true && { fractionalSecondDigits: 3 }),
    ...(isUtc.value && { timeZone: 'UTC' }),
  });
}
