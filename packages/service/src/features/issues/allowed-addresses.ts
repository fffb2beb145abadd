import { isIP } from 'node:net';

import { isPublicAddress, resolveAll } from '@footbridge/runtime/public-address';

export const NOT_ALLOWED =
  'the host has an address that is not public; set ALERT_ALLOW_PRIVATE=true if that is intended';

/** Resolves with the addresses of a host, or with null when one of them is not allowed. Rejects when the name cannot be resolved. */
export async function allowedAddresses(
  host: string,
  allowPrivate: boolean,
): Promise<readonly string[] | null> {
  const bare = host.replace(/^\[|\]$/g, '');
  const addresses = isIP(bare) === 0 ? await resolveAll(bare) : [bare];
  return allowPrivate || addresses.every(isPublicAddress) ? addresses : null;
}

/** Returns the signal of one attempt. */
export const attemptSignal = (timeoutMs: number, stopped: AbortSignal | undefined): AbortSignal =>
  AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(stopped === undefined ? [] : [stopped])]);

/** Resolves or rejects with the work, or rejects once the signal aborts. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted', { cause: signal.reason })), {
      once: true,
    });
    work.then(resolve, reject);
  });
}
