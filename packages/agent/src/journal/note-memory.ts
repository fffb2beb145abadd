import type { Journal } from './journal.ts';

/** Returns a memory that outlives the process: a note of the journal. */
export function noteMemory(
  journal: Pick<Journal, 'note' | 'setNote'>,
  name: string,
): { load(): string | undefined; save(value: string): void } {
  return { load: () => journal.note(name), save: (value) => journal.setNote(name, value) };
}
