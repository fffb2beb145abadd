import type { DatabaseSync } from 'node:sqlite';

import type { Inbox, Journal } from './journal.ts';

const CURSOR = 'inbound-cursor';

export function sqliteInbox(
  db: DatabaseSync,
  notes: Pick<Journal, 'note' | 'setNote'>,
): Inbox & { prune(before: number): void; forgetCursor(): void } {
  const addPending = db.prepare(
    'INSERT INTO held (rowid_in_store, guid, held_since) VALUES (?, ?, ?) ON CONFLICT (rowid_in_store) DO NOTHING',
  );
  const pending = db.prepare('SELECT * FROM held ORDER BY rowid_in_store');
  const removePending = db.prepare('DELETE FROM held WHERE rowid_in_store = ?');
  const markSeen = db.prepare('INSERT INTO seen (guid, seen_at) VALUES (?, ?) ON CONFLICT (guid) DO NOTHING');
  const hasSeen = db.prepare('SELECT 1 FROM seen WHERE guid = ?');
  const prune = db.prepare('DELETE FROM seen WHERE seen_at < ?');

  return {
    cursor: (store) => {
      const [identity, rowid] = splitCursor(notes.note(CURSOR));
      return identity === store ? rowid : undefined;
    },
    moveCursor: (store, rowid) => notes.setNote(CURSOR, `${rowid} ${store}`),
    addPending: (row) => void addPending.run(row.rowid, row.guid, row.since),
    pending: () =>
      pending.all().map((row) => ({
        rowid: Number(row['rowid_in_store']),
        guid: String(row['guid']),
        since: Number(row['held_since']),
      })),
    removePending: (rowid) => void removePending.run(rowid),
    markSeen: (guid, now) => markSeen.run(guid, now).changes === 1,
    hasSeen: (guid) => hasSeen.get(guid) !== undefined,
    forgetCursor: () => notes.setNote(CURSOR, ''),
    prune: (before) => void prune.run(before),
  };
}

function splitCursor(stored: string | undefined): [string | undefined, number] {
  const space = stored?.indexOf(' ') ?? -1;
  if (stored === undefined || space < 0) return [undefined, 0];
  return [stored.slice(space + 1), Number(stored.slice(0, space))];
}
