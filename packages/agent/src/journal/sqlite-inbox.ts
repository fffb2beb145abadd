import type { DatabaseSync } from 'node:sqlite';

import type { Inbox, Journal } from './journal.ts';
import { lazyStatements } from './sqlite-statement.ts';

const CURSOR = 'inbound-cursor';
const BEGAN = 'inbound-began';

export function sqliteInbox(
  db: DatabaseSync,
  notes: Pick<Journal, 'note' | 'setNote'>,
): Inbox & { prune(before: number): void; forgetCursor(): void } {
  const prepare = lazyStatements(db);
  const addPending = prepare(
    'INSERT INTO pending_row (guid, since) VALUES (?, ?) ON CONFLICT (guid) DO NOTHING',
  );
  const pending = prepare('SELECT guid, since FROM pending_row ORDER BY place');
  const removePending = prepare('DELETE FROM pending_row WHERE guid = ?');
  const markSeen = prepare(
    'INSERT INTO seen (guid, seen_at, own) VALUES (?, ?, ?) ON CONFLICT (guid) DO NOTHING',
  );
  const hasSeen = prepare('SELECT 1 FROM seen WHERE guid = ?');
  const unmarkSeen = prepare('DELETE FROM seen WHERE guid = ?');
  const lastSeen = prepare('SELECT seen_at FROM seen WHERE own = 0 ORDER BY seen_at DESC LIMIT 1');
  const prune = prepare('DELETE FROM seen WHERE seen_at < ?');

  return {
    cursor: (generation) => {
      const [rowid, of] = (notes.note(CURSOR) ?? '').split(' ');
      return of === String(generation) ? Number(rowid) : undefined;
    },
    moveCursor: (generation, rowid) => notes.setNote(CURSOR, `${rowid} ${generation}`),
    began: () => {
      const [at, generation] = (notes.note(BEGAN) ?? '').split(' ');
      return generation === undefined ? undefined : { at: Number(at), generation: Number(generation) };
    },
    begin: ({ at, generation }) => notes.setNote(BEGAN, `${at} ${generation}`),
    addPending: (row) => void addPending.run(row.guid, row.since),
    pending: () => pending.all().map((row) => ({ guid: String(row['guid']), since: Number(row['since']) })),
    removePending: (guid) => void removePending.run(guid),
    markSeen: (guid, now, own = false) => markSeen.run(guid, now, own ? 1 : 0).changes === 1,
    unmarkSeen: (guid) => void unmarkSeen.run(guid),
    hasSeen: (guid) => hasSeen.get(guid) !== undefined,
    lastSeenAt: () => {
      const row = lastSeen.get();
      return row === undefined ? undefined : Number(row['seen_at']);
    },
    forgetCursor: () => {
      notes.setNote(CURSOR, '');
      notes.setNote(BEGAN, '');
    },
    prune: (before) => void prune.run(before),
  };
}
