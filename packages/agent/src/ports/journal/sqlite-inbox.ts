import type { DatabaseSync } from 'node:sqlite';

import type { Inbox } from './journal.ts';

export function inboxTable(
  db: DatabaseSync,
  noted: (name: string) => string | undefined,
  note: (name: string, value: string) => void,
): Inbox & { forget(before: number): void } {
  const hold = db.prepare(
    'INSERT INTO held (rowid_in_store, guid, held_since) VALUES (?, ?, ?) ON CONFLICT (rowid_in_store) DO NOTHING',
  );
  const held = db.prepare('SELECT * FROM held ORDER BY rowid_in_store');
  const release = db.prepare('DELETE FROM held WHERE rowid_in_store = ?');
  const remember = db.prepare('INSERT INTO seen (guid, seen_at) VALUES (?, ?) ON CONFLICT (guid) DO NOTHING');
  const knows = db.prepare('SELECT 1 FROM seen WHERE guid = ?');
  const forget = db.prepare('DELETE FROM seen WHERE seen_at < ?');

  return {
    cursor: (store) => {
      const [identity, rowid] = splitCursor(noted('inbound-cursor'));
      return identity === store ? rowid : undefined;
    },
    moveCursor: (store, rowid) => note('inbound-cursor', `${rowid} ${store}`),
    hold: (row) => void hold.run(row.rowid, row.guid, row.heldSince),
    held: () =>
      held.all().map((row) => ({
        rowid: Number(row['rowid_in_store']),
        guid: String(row['guid']),
        heldSince: Number(row['held_since']),
      })),
    release: (rowid) => void release.run(rowid),
    remember: (guid, now) => remember.run(guid, now).changes === 1,
    knows: (guid) => knows.get(guid) !== undefined,
    forget: (before) => void forget.run(before),
  };
}

function splitCursor(stored: string | undefined): [string | undefined, number] {
  const space = stored?.indexOf(' ') ?? -1;
  if (stored === undefined || space < 0) return [undefined, 0];
  return [stored.slice(space + 1), Number(stored.slice(0, space))];
}
