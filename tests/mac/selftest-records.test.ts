import { DatabaseSync } from 'node:sqlite';

import { ChatDb } from '@footbridge/agent/ports/messages/chat-db';
import { ALL_LABELS } from '@footbridge/agent/ports/messages/macos/accessibility/labels';
import { describe, expect, it } from 'vitest';

import { readRecord, readRecords } from '../../scripts/selftest-records.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const records = [...readRecords(ROOT)].map(([name, record]) => ({ name, record }));

/** An empty store with the tables and columns of a record. */
function storeWith(tables: Readonly<Record<string, readonly string[]>>): DatabaseSync {
  const db = new DatabaseSync(':memory:');
  for (const [table, columns] of Object.entries(tables)) {
    // SQLite makes these tables itself.
    if (table.startsWith('sqlite_')) continue;
    const definitions = columns.map((column) =>
      column === 'ROWID' ? 'ROWID INTEGER PRIMARY KEY AUTOINCREMENT' : `"${column}"`,
    );
    db.exec(`CREATE TABLE "${table}" (${definitions.join(', ')})`);
  }
  return db;
}

/** What was not reached is not in a record. */
const withField = <F extends 'tables' | 'windows'>(field: F) =>
  records.flatMap(({ name, record: { [field]: value } }) => (value === undefined ? [] : [{ name, value }]));

describe('the records of selftests', () => {
  it.each(withField('tables'))('$name has the columns of a store that the agent can read', ({ value }) => {
    const db = storeWith(value);
    db.exec(
      `INSERT INTO message (guid, text, is_from_me, is_sent, is_delivered, service) VALUES ('GUID-1', 'Hello', 1, 1, 1, 'iMessage')`,
    );
    const store = new ChatDb(db, {
      file: () => 'record',
      memory: { load: () => undefined, save: () => undefined },
      folders: { home: '/', messages: '/' },
      ownHandles: [],
    });
    expect(store.rowsAfter(0, 10)).toMatchObject([{ guid: 'GUID-1', text: 'Hello', fromMe: true }]);
    expect(store.sendState('GUID-1')).toMatchObject({ sent: true, delivered: true });
    db.close();
  });

  it.each(withField('windows'))('$name has the elements that the agent looks for', ({ value }) => {
    const { elements, labels } = value;
    const identifiers = elements.map(({ identifier }) => identifier);
    expect(identifiers).toEqual(expect.arrayContaining(['TranscriptCollectionView', 'messageBodyField']));
    for (const { table, key } of ALL_LABELS) expect(labels).toHaveProperty([`${table} ${key}`]);
  });
});

it('rejects a record with a number, an address or a text', () => {
  const [first] = records;
  const record = { ...first?.record };
  const read = (changed: object) => () => readRecord('changed', JSON.stringify({ ...record, ...changed }));
  expect(read({})).not.toThrow();
  expect(read({ services: ['+15550100000'] })).toThrow('/services/0');
  expect(read({ liveChats: { sameId: 1, forms: { 'iMessage;-;anna@example.com': 1 } } })).toThrow(
    '/liveChats',
  );
  expect(read({ row: { text: 'Hello' } })).toThrow('/row/text');
  expect(read({ owner: 'Anna' })).toThrow('additional properties');
});
