import type { Jxa } from './jxa.ts';
import { write } from './streams.ts';

export type LiveChatsLine =
  | { readonly step: 'chats'; readonly ids: readonly string[] }
  | { readonly step: 'error'; readonly number: number };

declare const Application: Jxa['Application'];

/** Lists the ids under which Messages offers its chats. */
try {
  write({ step: 'chats', ids: Application('Messages').chats.id() } satisfies LiveChatsLine);
} catch (error) {
  write({
    step: 'error',
    number: (error as { errorNumber?: number }).errorNumber ?? 0,
  } satisfies LiveChatsLine);
}
