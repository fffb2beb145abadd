import { Rejection } from './rejection.ts';

/** W11. Types such as `application/jsonl` pass here and are rejected by `checkShape` (W12). */
export function checkContentType(contentType: string): Rejection | undefined {
  return contentType.includes('application/json') ? undefined : new Rejection('INVALID_CONTENT_TYPE');
}
