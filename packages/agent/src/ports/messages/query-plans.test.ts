import type { DatabaseSync } from 'node:sqlite';

import { MACOS_VERSIONS, openChatDb } from '@footbridge/simulator/chat-db';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { ChatDb } from './chat-db.ts';
import { chatIdOf } from './chat-ids.ts';
import { insertInto, readChatDb } from './real-chat-db.fixture.ts';

const ANNA = '+15550100001';
const BERT = '+15550100002';

describe.each(MACOS_VERSIONS)('on macOS %s', (macos) => {
  let db: DatabaseSync;
  let store: ChatDb;
  const prepared = new Set<string>();
  beforeEach(() => {
    db = openChatDb(':memory:', macos);
    for (const id of [ANNA, BERT]) insertInto(db, 'handle', { id, service: 'iMessage' });
    for (const style of [43, 45]) {
      const chat = insertInto(db, 'chat', { guid: `chat ${style}`, style, service_name: 'iMessage' });
      insertInto(db, 'chat_handle_join', { chat_id: chat, handle_id: 1 });
      if (style === 43) insertInto(db, 'chat_handle_join', { chat_id: chat, handle_id: 2 });
      const message = insertInto(db, 'message', {
        guid: `message ${style}`,
        handle_id: 1,
        service: 'iMessage',
        text: 'Hi',
      });
      insertInto(db, 'chat_message_join', { chat_id: chat, message_id: message });
    }
    store = readChatDb(recorded(db));
    // Own addresses are read from all chats, but only after a new chat.
    store.ownHandles();
    prepared.clear();
  });
  afterEach(() => db.close());

  /** Remembers the statements that a reader prepares. */
  function recorded(original: DatabaseSync): DatabaseSync {
    const prepare = original.prepare.bind(original);
    original.prepare = (sql: string) => {
      prepared.add(sql);
      return prepare(sql);
    };
    return original;
  }

  function scans(): string[] {
    const plans = [...prepared]
      .filter((sql) => sql.startsWith('SELECT') && !sql.includes('pragma_') && !sql.includes('sqlite_'))
      .flatMap((sql) => db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all())
      .map((step) => String(step['detail']));
    return plans.filter((step) => step.startsWith('SCAN') && !step.includes('CONSTANT'));
  }

  it.each<[string, () => unknown]>([
    ['rowsAfter', () => store.rowsAfter(1, 100)],
    ['rowByGuid', () => store.rowByGuid('message 43')],
    ['ownReaction', () => store.ownReaction('message 43')],
    ['groupOf', () => store.groupOf([ANNA, BERT], 'iMessage')],
    ['directChat', () => store.directChat(ANNA, 'iMessage')],
    ['chat', () => store.chat(chatIdOf(1, 1))],
    ['generation', () => store.generation()],
    ['sendState', () => store.sendState('message 43')],
  ])('%s uses an index for every table', (_, read) => {
    read();
    expect(prepared.size).toBeGreaterThan(0);
    expect(scans()).toEqual([]);
  });
});
