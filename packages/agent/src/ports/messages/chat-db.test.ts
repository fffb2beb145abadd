import type { DatabaseSync } from 'node:sqlite';

import { openChatDb } from '@footbridge/simulator/chat-db';
import type { MacosVersion } from '@footbridge/simulator/chat-db';
import { afterEach, describe, expect, it } from 'vitest';

import type { ChatDb } from './chat-db.ts';
import { chatIdOf } from './chat-ids.ts';
import { exampleRows, readChatDb } from './real-chat-db.fixture.ts';
import { TEXT_ROW } from './stored-row.fixture.ts';

let db: DatabaseSync;
afterEach(() => db.close());

function realStore(macos: MacosVersion | 12): ChatDb {
  db = openChatDb(':memory:', macos);
  return readChatDb(db);
}

const guid = (number: number): string => `A0000000-0000-4000-8000-000000000${number}`;

describe('chat.db of macOS 26', () => {
  function store26(): ChatDb {
    const store = realStore(26);
    db.exec(exampleRows());
    return store;
  }

  it('returns a text with its sender, chat and time', () => {
    expect(store26().rowByGuid(guid(100))).toEqual({
      ...TEXT_ROW,
      rowid: 100,
      guid: guid(100),
      chatId: chatIdOf(1, 1),
      sentAt: Date.UTC(2001, 0, 1) + 779_490_370_623,
    });
  });

  it('returns chats with their recipients', () => {
    const store = store26();
    expect(store.chat(chatIdOf(1, 2))).toEqual({
      id: chatIdOf(1, 2),
      key: 'any;+;chat900000000000000001',
      isGroup: true,
      recipients: ['+15550100001', '+15550100002'],
      service: 'iMessage',
      services: ['iMessage'],
    });
    expect(store.chat(chatIdOf(1, 3))).toMatchObject({ isGroup: false, service: 'SMS' });
    expect(store.chat(chatIdOf(1, 4))).toBeUndefined();
    expect(store.groupOf(['+15550100002', '+15550100001'], 'iMessage')).toMatchObject({
      id: chatIdOf(1, 2),
    });
    expect(store.groupOf(['+15550100002'], 'iMessage')).toBeUndefined();
    expect(store.groupOf(['+15550100002', '+15550100001', '+15550100003'], 'iMessage')).toBeUndefined();
  });

  it('M11 knows no chat of another generation', () => {
    const store = store26();
    expect([2, chatIdOf(0, 2), chatIdOf(2, 2), -2, 2 ** 53].map((id) => store.chat(id))).toEqual(
      Array(5).fill(undefined),
    );
  });

  it('returns reactions with their raw target and its guid', () => {
    const store = store26();
    expect(store.rowByGuid(guid(102))?.tapback).toEqual({
      type: 2000,
      targetRaw: `p:0/${guid(100)}`,
      targetGuid: guid(100),
      emoji: undefined,
    });
    expect(store.rowByGuid(guid(103))?.tapback).toMatchObject({ type: 2006, emoji: '🔥' });
    const sticker = store.rowByGuid(guid(104));
    expect(sticker?.tapback?.type).toBe(2007);
    expect(sticker?.attachments).toMatchObject([
      {
        name: 'A8124391.heic',
        mime: 'image/heic',
        isSticker: true,
        description: 'pink poodle',
        state: 'waiting',
      },
    ]);
  });

  it('removes the attachment placeholder from the text of a voice message', () => {
    expect(store26().rowByGuid(guid(105))).toMatchObject({
      isVoice: true,
      text: '',
      expectsAttachments: false,
      attachments: [{ name: 'Audio Message.caf', mime: 'audio/x-caf' }],
    });
  });

  it('returns rows after a cursor, in order and up to a limit', () => {
    const store = store26();
    expect(store.rowsAfter(100, 3).map((row) => row.rowid)).toEqual([101, 102, 103]);
    expect(store.rowsAfter(106, 3)).toEqual([]);
    expect(store.newestRowid()).toBe(106);
  });

  it('returns the send state of an outgoing message', () => {
    expect(store26().sendState(guid(106))).toMatchObject({ finished: true, sent: false, error: 22 });
  });

  it('F9 derives the current own reaction from the newest row', () => {
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

  it('reads columns that a macOS update added while the store was open', () => {
    const store = realStore(12);
    db.exec("INSERT INTO message (guid, text, service, date) VALUES ('A', 'old', 'iMessage', 0)");
    expect(store.rowByGuid('A')?.tapback).toBeUndefined();
    db.exec('ALTER TABLE message ADD COLUMN associated_message_emoji TEXT');
    db.exec(
      "INSERT INTO message (guid, service, date, associated_message_guid, associated_message_type, associated_message_emoji) VALUES ('B', 'iMessage', 0, 'A', 2006, '🔥')",
    );
    expect(store.rowByGuid('B')?.tapback?.emoji).toBe('🔥');
  });

  it('recognises an unsent message', () => {
    const store = store26();
    db.prepare("UPDATE message SET text = '', part_count = 0, is_empty = 1 WHERE guid = ?").run(guid(100));
    expect(store.rowByGuid(guid(100))?.unsent).toBe(true);
  });
});

describe('chat.db of macOS 12', () => {
  it('is read without the columns of later versions', () => {
    const store = realStore(12);
    db.exec("INSERT INTO handle (id, service) VALUES ('+15550100001', 'iMessage')");
    db.exec(
      "INSERT INTO message (guid, text, handle_id, service, date) VALUES ('A', 'Hi', 1, 'iMessage', 779490370005000000)",
    );
    expect(store.rowsAfter(0, 10)).toMatchObject([
      {
        guid: 'A',
        text: 'Hi',
        sender: '+15550100001',
        chatId: undefined,
        sentAt: Date.UTC(2001, 0, 1) + 779_490_370_005,
      },
    ]);
  });
});
