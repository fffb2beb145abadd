import type { Fields } from './pick-fields.ts';

const MAX_USER_ID = 64;
const PLAIN = /^[\x20-\x7e]{0,64}$/;

/** The CRM's user for log and journal: recorded, never interpreted (W10). */
export function userOf({ userId }: Pick<Fields, 'userId'>): { readonly userId?: string } {
  return userId === undefined ? {} : { userId: printable(userId) };
}

function printable(text: string): string {
  if (PLAIN.test(text)) return text;
  return text
    .slice(0, MAX_USER_ID * 2)
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '')
    .slice(0, MAX_USER_ID)
    .toWellFormed();
}
