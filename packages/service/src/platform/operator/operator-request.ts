import type { OperatorCode } from '@footbridge/protocol/codes';

import { RequestError } from '../errors.ts';

/** An error for the operator. The message says what is wrong and what to do. */
export function operatorError(code: OperatorCode, message: string): RequestError {
  return new RequestError(code, { message }, { channel: 'operator' });
}

/** Whether a path segment can be one of our ids. Anything else never reaches the database. */
export const isRowId = (text: string): boolean => /^[\w-]{1,64}$/.test(text);

export const isoTime = (ms: number): string => new Date(ms).toISOString();
