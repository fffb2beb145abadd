import type { OperatorCode } from '@footbridge/protocol/codes';
import type { z } from 'zod';

import { RequestError } from '../../errors.ts';

/** A refusal that an operator reads: the message says what stands in the way and what to do. */
export function refused(code: OperatorCode, message: string): RequestError {
  return new RequestError(code, { message }, { channel: 'operator' });
}

/** The body in its exact form; a refusal names the field and the rule. */
export function readBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = issue?.path.join('.') ?? '';
  throw refused(
    'INVALID_REQUEST',
    `${place === '' ? 'The body' : place}: ${issue?.message ?? 'has another form'}`,
  );
}

/** No id of ours looks otherwise; what else a path can hold, the database need not see. */
export const isRowId = (text: string): boolean => /^[\w-]{1,64}$/.test(text);

export const isoTime = (ms: number): string => new Date(ms).toISOString();
