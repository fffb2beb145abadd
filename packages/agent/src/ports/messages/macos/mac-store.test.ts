import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';

import { FakeClock } from '@footbridge/testkit/fake-clock';
import { until } from '@footbridge/testkit/until';
import { openChatDb } from '@footbridge/simulator/chat-db';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { StoreUnavailableError } from '../messages.ts';
import { insertInto } from '../real-chat-db.fixture.ts';
import { MacStore } from './mac-store.ts';
import { problemOf } from './open-store.ts';
import { watchStore } from './watch-store.ts';

let home: string;
let folder: string;
let path: string;
let messages: DatabaseSync | undefined;
let store: MacStore | undefined;
let saved: string | undefined;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'footbridge-'));
  folder = join(home, 'Library/Messages');
  path = join(folder, 'chat.db');
  mkdirSync(folder, { recursive: true });
  saved = undefined;
});
afterEach(() => {
  store?.close();
  if (messages?.isOpen === true) messages.close();
  rmSync(home, { recursive: true });
});

function open(): MacStore {
  store?.close();
  store = new MacStore(
    { home, messages: folder },
    {
      load: () => saved,
      save: (value) => {
        saved = value;
      },
    },
  );
  return store;
}

/** Messages creates a store and keeps it open. */
function create(...guids: string[]): DatabaseSync {
  messages = openChatDb(path, 26);
  for (const guid of guids) insertInto(messages, 'message', { guid, text: guid });
  return messages;
}

/** Messages puts another store in the place of the first one. */
function replace(...guids: string[]): DatabaseSync {
  messages?.close();
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
  // Keeps the number of the removed file in use.
  writeFileSync(join(home, 'other'), '');
  return create(...guids);
}

describe('the state of the store', () => {
  it('is absent until Messages creates it', () => {
    const absent = open();
    expect(absent.state()).toBe('absent');
    expect(() => absent.newestRowid()).toThrow(StoreUnavailableError);
    create('A');
    expect(absent.refresh()).toBe(true);
    expect(absent.state()).toBe('readable');
    expect(absent.newestRowid()).toBe(1);
  });

  it('is empty without tables', () => {
    writeFileSync(path, '');
    expect(open().state()).toBe('empty');
    messages = openChatDb(join(home, 'made.db'), 26);
    messages.exec('DROP TABLE message');
    messages.close();
    renameSync(join(home, 'made.db'), path);
    expect(open().state()).toBe('empty');
  });

  it('is corrupt when the file is not a database, even while the store is open', () => {
    writeFileSync(path, 'this is not a database, and longer than its header'.repeat(40));
    expect(open().state()).toBe('corrupt');
    rmSync(path);
    const db = create(...Array.from({ length: 500 }, (_, index) => `GUID-${index}`));
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    db.close();
    const readable = open();
    expect(readable.state()).toBe('readable');
    truncateSync(path, 8192);
    expect(() => readable.rowsAfter(0, 500)).toThrow(StoreUnavailableError);
    expect(readable.state()).not.toBe('readable');
  });

  it('is locked while another process holds it', () => {
    const db = create('A');
    db.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
    expect(open().state()).toBe('locked');
    db.exec('ROLLBACK');
    expect(store?.refresh()).toBe(true);
    expect(store?.state()).toBe('readable');
  });

  it('is denied when the system refuses the file', () => {
    create('A').close();
    chmodSync(path, 0o000);
    // Only macOS refuses the superuser.
    expect(open().state()).toBe(process.getuid?.() === 0 ? 'readable' : 'denied');
    expect(problemOf(Object.assign(new Error('no'), { code: 'EPERM' }))).toBe('denied');
    expect(problemOf(Object.assign(new Error('no'), { code: 'EACCES' }))).toBe('denied');
    expect(problemOf(Object.assign(new Error('no'), { code: 'ENOENT' }))).toBe('absent');
    expect(problemOf(new Error('something else'))).toBeUndefined();
  });
});

describe('an open store', () => {
  it('shows rows in the write-ahead log, also after checkpoints', () => {
    const db = create('A');
    const reader = open();
    insertInto(db, 'message', { guid: 'B' });
    expect(reader.newestRowid()).toBe(2);
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    insertInto(db, 'message', { guid: 'C' });
    expect(reader.rowsAfter(0, 10).map((row) => row.guid)).toEqual(['A', 'B', 'C']);
  });

  it('reports each commit of another process once', () => {
    const db = create('A');
    const reader = open();
    expect(reader.refresh()).toBe(false);
    insertInto(db, 'message', { guid: 'B' });
    expect(reader.refresh()).toBe(true);
    expect(reader.refresh()).toBe(false);
  });

  it('M11 is opened again as another generation when its file was replaced', () => {
    create('A', 'B');
    const reader = open();
    expect(reader.generation()).toBe(1);
    replace('X');
    expect(reader.refresh()).toBe(true);
    expect(reader.state()).toBe('replaced');
    expect(reader.generation()).toBe(2);
    expect(reader.rowsAfter(0, 10).map((row) => row.guid)).toEqual(['X']);
    expect(open().state()).toBe('readable');
    expect(store?.generation()).toBe(2);
  });

  it('is absent while its file is gone', () => {
    create('A');
    const reader = open();
    messages?.close();
    rmSync(path);
    expect(reader.refresh()).toBe(true);
    expect(reader.state()).toBe('absent');
  });
});

describe('the watch', () => {
  it('announces new rows after events of the folder', async () => {
    const db = create('A');
    const reader = open();
    const clock = new FakeClock();
    let changes = 0;
    const unwatch = watchStore({
      folder,
      clock,
      refresh: () => reader.refresh(),
      onChange: () => {
        changes += 1;
      },
    });
    insertInto(db, 'message', { guid: 'B' });
    // At most 1.5 s of the clock pass: less than the poll interval, so only an event can announce the row.
    expect(await until(() => clock.advance(1).then(() => changes > 0), { every: 40 })).toBe(true);
    unwatch();
    const before = changes;
    insertInto(db, 'message', { guid: 'C' });
    await clock.advance(10_000);
    expect(changes).toBe(before);
  });

  it('announces new rows by polling without events, and always after a sleep', async () => {
    const clock = new FakeClock();
    let changes = 0;
    let hasChanged = false;
    const unwatch = watchStore({
      folder: join(home, 'nowhere'),
      clock,
      refresh: () => hasChanged,
      onChange: () => {
        changes += 1;
      },
    });
    await clock.advance(6_000);
    expect(changes).toBe(0);
    hasChanged = true;
    await clock.advance(2_000);
    expect(changes).toBe(1);
    hasChanged = false;
    await clock.advance(2_000);
    expect(changes).toBe(1);
    clock.advanceWallClock(3600_000);
    await clock.advance(2_000);
    expect(changes).toBe(2);
    unwatch();
  });
});
