import type { Fields } from './pick-fields.ts';
import { Rejection } from './rejection.ts';

const MAX_SHOWN = 64;

/** W9. Runs before the required fields, so that an `Email` delivery is not reported as incomplete. */
export function checkType(
  { type }: Pick<Fields, 'type'>,
  accepted: readonly unknown[],
): Rejection | undefined {
  if (type === undefined || accepted.includes(type.value)) return undefined;
  return new Rejection('UNSUPPORTED_MESSAGE_TYPE', {}, `Unsupported message type: ${shown(type.value)}`);
}

/** Objects are not serialised: they may be nested too deeply. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'object' && value !== null) return 'object';
  const text = String(value);
  return (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text).toWellFormed();
}
