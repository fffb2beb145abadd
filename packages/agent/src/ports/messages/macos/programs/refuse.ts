import type { RefusalReason } from './screen-lines.ts';

/** Ends the program. Nothing was pressed and nothing was sent. */
export function refuse(reason: RefusalReason): never {
  throw Object.assign(new Error('refused'), { reason });
}
