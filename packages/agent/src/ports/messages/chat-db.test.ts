import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

import { afterEach, describe, expect, it } from 'vitest';

import { ChatStore } from './chat-db.ts';

const fixture = (name: string): string => readFileSync(new URL(`fixtures/${name}`, import.meta.url), 'utf8');
let db: DatabaseSync;
afterEach(() => db.close());

/** A store with the real schema of that macOS. */
function realStore(macos: '12' | '26'): ChatStore {
  db = new DatabaseSync(':memory:');
  const tables = fixture(`chat-db-macos${macos}.sql`).match(/CREATE TABLE (?!sqlite_)[\s\S]*?\)\s*;/g) ?? [];
  for (const table of tables) db.exec(table);
  return new ChatStore(db, 'fixture', ['+15550100000']);
}

const guid = (number: number): string => `A0000000-0000-4000-8000-000000000${number}`;

describe('the store of macOS 26', () => {
  function store26(): ChatStore {
    const store = realStore('26');
    db.exec(fixture('rows-macos26.sql'));
    return store;
  }

  it('tells a text with its sender, chat and time', () => {
    expect(store26().rowOf(guid(100))).toEqual({
      rowid: 100,
      guid: guid(100),
      chatId: 1,
      fromMe: false,
      sender: '+15550100001',
      service: 'iMessage',
      text: 'Hello',
      sentAt: Date.UTC(2001, 0, 1) + 779_490_370_623,
      isMessage: true,
      unsent: false,
      tapback: undefined,
      effect: undefined,
      replyTo: undefined,
      isVoice: false,
      expectsAttachments: false,
      attachments: [],
    });
  });

  it('tells chats and their people', () => {
    const store = store26();
    expect(store.chat(2)).toEqual({
      id: 2,
      isGroup: true,
      recipients: ['+15550100001', '+15550100002'],
      service: 'iMessage',
    });
    expect(store.chat(3)).toMatchObject({ isGroup: false, service: 'SMS' });
    expect(store.chat(4)).toBeUndefined();
    expect(store.groupOf(['+15550100002', '+15550100001'])?.id).toBe(2);
    expect(store.groupOf(['+15550100002'])).toBeUndefined();
    expect(store.groupOf(['+15550100002', '+15550100001', '+15550100003'])).toBeUndefined();
  });

  it('tells reactions with their target, prefix or not', () => {
    const store = store26();
    expect(store.rowOf(guid(102))?.tapback).toEqual({
      type: 2000,
      targetRaw: `p:0/${guid(100)}`,
      targetGuid: guid(100),
      emoji: undefined,
    });
    expect(store.rowOf(guid(103))?.tapback).toMatchObject({ type: 2006, emoji: '🔥' });
    const sticker = store.rowOf(guid(104));
    expect(sticker?.tapback?.type).toBe(2007);
    expect(sticker?.attachments).toMatchObject([
      { name: 'A8124391.heic', mime: 'image/heic', isSticker: true, description: 'pink poodle', ready: true },
    ]);
  });

  it('tells a voice message without the sign that stands for its file', () => {
    expect(store26().rowOf(guid(105))).toMatchObject({
      isVoice: true,
      text: '',
      expectsAttachments: true,
      attachments: [{ name: 'Audio Message.caf', mime: 'audio/x-caf' }],
    });
  });

  it('gives rows after a cursor, in order, so many at a time', () => {
    const store = store26();
    expect(store.rowsAfter(100, 3).map((row) => row.rowid)).toEqual([101, 102, 103]);
    expect(store.rowsAfter(106, 3)).toEqual([]);
    expect(store.newestRowid()).toBe(106);
  });

  it('tells how an own message ended', () => {
    expect(store26().sendState(guid(106))).toMatchObject({ finished: true, sent: false, error: 22 });
  });

  it('F9 knows the own reaction of now: the newest row decides', () => {
    const store = store26();
    expect(store.ownReaction(guid(100))).toBeUndefined();
    const press = (rowid: number, type: number, emoji: string | null, target: string): void => {
      db.prepare(
        `INSERT INTO message (ROWID, guid, is_from_me, service, date, associated_message_guid,
         associated_message_type, associated_message_emoji) VALUES (?, ?, 1, 'iMessage', ?, ?, ?, ?)`,
      ).run(rowid, `OWN-${rowid}`, rowid, target, type, emoji);
    };
    press(201, 2001, null, `p:0/${guid(100)}`);
    expect(store.ownReaction(guid(100))).toEqual({ kind: 'classic', type: 'like' });
    press(202, 2006, '🎉', guid(100));
    expect(store.ownReaction(guid(100))).toEqual({ kind: 'emoji', emoji: '🎉' });
    press(203, 3006, '🎉', `bp:${guid(100)}`);
    expect(store.ownReaction(guid(100))).toBeUndefined();
  });

  it('sees what another connection writes at once, and later columns after an update', () => {
    const store = realStore('12');
    db.exec("INSERT INTO message (guid, text, service, date) VALUES ('A', 'old', 'iMessage', 0)");
    expect(store.rowOf('A')?.tapback).toBeUndefined();
    db.exec('ALTER TABLE message ADD COLUMN associated_message_emoji TEXT');
    db.exec(
      "INSERT INTO message (guid, service, date, associated_message_guid, associated_message_type, associated_message_emoji) VALUES ('B', 'iMessage', 0, 'A', 2006, '🔥')",
    );
    expect(store.rowOf('B')?.tapback?.emoji).toBe('🔥');
  });

  it('knows a message that was taken back', () => {
    const store = store26();
    db.prepare("UPDATE message SET text = '', part_count = 0, is_empty = 1 WHERE guid = ?").run(guid(100));
    expect(store.rowOf(guid(100))?.unsent).toBe(true);
  });
});

describe('the store of macOS 12', () => {
  it('is read without the columns that came later', () => {
    const store = realStore('12');
    db.exec("INSERT INTO handle (id, service) VALUES ('+15550100001', 'iMessage')");
    db.exec(
      "INSERT INTO message (guid, text, handle_id, service, date) VALUES ('A', 'Hi', 1, 'iMessage', 5000000)",
    );
    expect(store.rowsAfter(0, 10)).toMatchObject([
      { guid: 'A', text: 'Hi', sender: '+15550100001', chatId: undefined, sentAt: Date.UTC(2001, 0, 1) + 5 },
    ]);
  });
});
