import { journalPath } from '../edges/data-dir.ts';
import { openJournal, openJournalAsIs } from '../journal/journal-sqlite.ts';
import type { Journal } from '../journal/journal.ts';

/** Opens the journal in a data folder and migrates it. Commands use `openAgentJournalAsIs`. */
export function openAgentJournal(dataDir: string): Journal {
  return openJournal(journalPath(dataDir));
}

/** Opens the journal in a data folder for a command, even while an agent of this version or an older one runs. */
export function openAgentJournalAsIs(dataDir: string, options?: { readonly readOnly?: boolean }): Journal {
  return openJournalAsIs(journalPath(dataDir), options);
}

/** Opens an empty journal in memory. Nothing that is written to it is kept. */
export const openEmptyJournal = (): Journal => openJournal(':memory:');
