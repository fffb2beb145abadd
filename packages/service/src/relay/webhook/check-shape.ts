import { Rejection } from './rejection.ts';

/** W12, W13. Rejects a request without a parsed body. An array passes: it lacks the required fields. */
export function checkShape(body: unknown): Rejection | undefined {
  return body === undefined ? new Rejection('INVALID_REQUEST_BODY') : undefined;
}
