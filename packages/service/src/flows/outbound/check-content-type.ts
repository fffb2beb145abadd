import { Refusal } from './refusal.ts';

/** W11. Relatives of JSON pass here and stop at the body's shape. */
export function checkContentType(contentType: string): Refusal | undefined {
  return contentType.includes('application/json') ? undefined : new Refusal('INVALID_CONTENT_TYPE');
}
