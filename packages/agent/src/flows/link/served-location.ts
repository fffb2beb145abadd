import type { Journal } from '../../journal/journal.ts';

const NOTE = 'location';

/** The location that this install serves. Undefined before its first start. */
export function servedLocation(journal: Pick<Journal, 'note'>): string | undefined {
  return journal.note(NOTE);
}

/** Fixes the location of this install at its first start. Returns the location that it serves (M9). */
export function claimLocation(journal: Journal, location: string): string {
  const served = servedLocation(journal);
  if (served !== undefined) return served;
  journal.setNote(NOTE, location);
  return location;
}

/** Serves another location from now on. Empties the journal, because its jobs and frames belong to another tenant. */
export function moveTo(journal: Journal, location: string): void {
  journal.durableTransaction(() => {
    journal.empty();
    journal.setNote(NOTE, location);
  });
  // The deleted frames hold texts.
  journal.walCheckpoint();
}
