import type { OperatorCode } from '@footbridge/protocol/codes';
import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import type { z } from 'zod';

import { RequestError } from '../../errors.ts';

/** An error for the operator. The message says what is wrong and what to do. */
export function operatorError(code: OperatorCode, message: string): RequestError {
  return new RequestError(code, { message }, { channel: 'operator' });
}

/** Parses the body. Throws a RequestError that names the field and the rule. */
export function readBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = issue?.path.join('.') ?? '';
  throw operatorError(
    'INVALID_REQUEST',
    `${place === '' ? 'The body' : place}: ${issue?.message ?? 'is malformed'}`,
  );
}

const LOCATION = /^\P{Cc}{1,256}$/u;

/** Checks the location id of a path. Throws a RequestError. */
export function asLocation(text: string): LocationId {
  const locationId = asLocationId(text);
  if (locationId === undefined || !LOCATION.test(text) || !text.isWellFormed())
    throw operatorError('INVALID_REQUEST', 'locationId: not a valid location id.');
  return locationId;
}

/** Whether a path segment can be one of our ids. Anything else never reaches the database. */
export const isRowId = (text: string): boolean => /^[\w-]{1,64}$/.test(text);

export const isoTime = (ms: number): string => new Date(ms).toISOString();
