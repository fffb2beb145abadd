import type { Journal } from './journal.ts';

/** A note of the journal, as a memory that outlives the process. */
export function noteMemory(
  journal: Pick<Journal, 'note' | 'setNote'>,
  name: string,
): { load(): string | undefined; save(value: string): void } {
  return { load: () => journal.note(name), save: (value) => journal.setNote(name, value) };
}
