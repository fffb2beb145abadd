import { Rejection } from './rejection.ts';

/** W6. Counts UTF-16 code units, like most CRMs, including the footer. */
export function checkLength(message: string | null, limit: number): Rejection | undefined {
  if (message === null || message.length <= limit) return undefined;
  return new Rejection(
    'MESSAGE_BODY_TOO_LONG',
    { received: message.length, limit },
    `Message body exceeds maximum length of ${limit} characters`,
  );
}
