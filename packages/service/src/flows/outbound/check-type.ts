import type { Fields } from './pick-fields.ts';
import { Refusal } from './refusal.ts';

const MAX_SHOWN = 64;

/** W9. Comes before the required fields, so that an e-mail is told apart from an incomplete text. */
export function checkType({ type }: Pick<Fields, 'type'>): Refusal | undefined {
  if (type === undefined || type.value === 'SMS') return undefined;
  return new Refusal('UNSUPPORTED_MESSAGE_TYPE', {}, `Unsupported message type: ${shown(type.value)}`);
}

/** Objects are named, not written out: they may be nested deeper than can be written. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'object' && value !== null) return 'object';
  const text = String(value);
  return (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text).toWellFormed();
}
