import { about } from './events.ts';

export const BUSINESS = 'Harbor Bikes';

/** Returns the display name of a handle. Unknown handles are shown as they are. */
export function nameOf(handle: string): string {
  if (handle === about.value?.customer) return 'Anna';
  if (handle === about.value?.friend) return 'Ben';
  return handle === 'me' || handle === 'us' ? BUSINESS : handle;
}

export const initialsOf = (name: string): string =>
  name
    .split(/\s+/)
    .map((word) => word.slice(0, 1))
    .join('')
    .slice(0, 2)
    .toUpperCase();
