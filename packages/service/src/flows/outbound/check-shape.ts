import { Refusal } from './refusal.ts';

/** W12, W13: no body was parsed. An array is a body; it only has none of the fields. */
export function checkShape(body: unknown): Refusal | undefined {
  return body === undefined ? new Refusal('INVALID_REQUEST_BODY') : undefined;
}
