import { Refusal } from './refusal.ts';

/** W6. Counted in UTF-16 units, as most CRMs count; the footer counts too. */
export function checkLength(message: string | null, limit: number): Refusal | undefined {
  if (message === null || message.length <= limit) return undefined;
  return new Refusal(
    'MESSAGE_BODY_TOO_LONG',
    { received: message.length, limit },
    `Message body exceeds maximum length of ${limit} characters`,
  );
}
