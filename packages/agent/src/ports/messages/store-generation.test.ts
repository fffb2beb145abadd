import { DatabaseSync } from 'node:sqlite';

import { afterEach, beforeEach, expect, it } from 'vitest';

import { Statements } from './statements.ts';
import { StoreGeneration } from './store-generation.ts';

let db: DatabaseSync;
let saved: string | undefined;
beforeEach(() => {
  saved = undefined;
  isFull = false;
  db = newStore();
});
afterEach(() => db.close());

function newStore(...guids: string[]): DatabaseSync {
  const store = new DatabaseSync(':memory:');
  for (const table of ['message', 'chat'])
    store.exec(`CREATE TABLE ${table} (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT UNIQUE NOT NULL)`);
  insert(guids, store);
  return store;
}

function insert(guids: readonly string[], store = db): void {
  for (const guid of guids) store.prepare('INSERT INTO message (guid) VALUES (?)').run(guid);
}

let isFull = false;

function generation(store = db, file = 'file 1'): StoreGeneration {
  const memory = {
    load: () => saved,
    save: (value: string) => {
      if (isFull) throw new Error('database or disk is full');
      saved = value;
    },
  };
  return new StoreGeneration(new Statements(store), () => file, memory);
}

it('starts with 1 and stays over restarts and new rows', () => {
  expect(generation().current()).toBe(1);
  insert(['A', 'B']);
  expect(generation().current()).toBe(1);
  insert(['C']);
  expect(generation().current()).toBe(1);
});

it('M11 stays when old messages or the newest one are deleted', () => {
  insert(['A', 'B', 'C', 'D']);
  const current = generation();
  expect(current.current()).toBe(1);
  db.exec("DELETE FROM message WHERE guid IN ('A', 'B', 'D')");
  expect(current.current()).toBe(1);
  insert(['E']);
  expect(generation().current()).toBe(1);
});

it('M11 stays when a message that was being written is rolled back', () => {
  insert(['A']);
  const current = generation();
  expect(current.current()).toBe(1);
  db.exec('BEGIN');
  insert(['B']);
  expect(current.current()).toBe(1);
  db.exec('ROLLBACK');
  expect(current.current()).toBe(1);
  insert(['C']);
  expect(current.current()).toBe(1);
});

it('M11 grows when another store has the same path', () => {
  insert(['A', 'B']);
  generation().current();
  const other = newStore('X', 'Y', 'Z');
  expect(generation(other).current()).toBe(2);
  expect(generation(other).current()).toBe(2);
  other.close();
});

it('M11 grows when a rebuilt store has the same messages and other chats, also in a file with the same number', () => {
  insert(['A', 'B']);
  db.exec("INSERT INTO chat (guid) VALUES ('Anna'), ('Bert')");
  generation().current();
  const rebuilt = newStore('A', 'B');
  rebuilt.exec("INSERT INTO chat (guid) VALUES ('Bert'), ('Anna')");
  expect(generation(rebuilt).current()).toBe(2);
  rebuilt.close();
});

it('M11 grows when the file was replaced, even by a copy', () => {
  insert(['A']);
  generation().current();
  expect(generation(db, 'file 2').current()).toBe(2);
});

it('M11 grows when an empty store replaced one with messages', () => {
  insert(['A']);
  generation().current();
  const empty = newStore();
  expect(generation(empty).current()).toBe(2);
  empty.close();
});

it('M11 grows while the store is open, when it was rolled back to an older state', () => {
  insert(['A', 'B', 'C']);
  const current = generation();
  current.current();
  db.exec("DELETE FROM message WHERE guid = 'C'; UPDATE sqlite_sequence SET seq = 2");
  expect(current.current()).toBe(2);
});

it('M11 grows when the store was rolled back and has grown again', () => {
  insert(['A', 'B', 'C']);
  generation().current();
  db.exec("DELETE FROM message WHERE guid = 'C'; UPDATE sqlite_sequence SET seq = 2");
  insert(['D', 'E']);
  expect(generation().current()).toBe(2);
});

it('M11 never returns to an earlier generation when an old store comes back', () => {
  insert(['A']);
  generation().current();
  const other = newStore('X');
  generation(other, 'file 2').current();
  other.close();
  expect(generation().current()).toBe(3);
});

it('M11 is not given out before it is saved, while the disk is full', () => {
  insert(['A']);
  generation().current();
  isFull = true;
  const replaced = generation(db, 'file 2');
  expect(() => replaced.current()).toThrow('not saved');
  isFull = false;
  expect(replaced.current()).toBe(2);
});

it('stays while the disk is full, and remembers newer rows when there is space again', () => {
  insert(['A']);
  const current = generation();
  current.current();
  isFull = true;
  insert(['B']);
  expect(current.current()).toBe(1);
  isFull = false;
  insert(['C']);
  expect(current.current()).toBe(1);
  expect(saved).toContain('C');
});
