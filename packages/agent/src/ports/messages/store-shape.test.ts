import { openChatDb } from '@footbridge/simulator/chat-db';
import { expect, it } from 'vitest';

import { Statements } from './statements.ts';
import { rowShapeOf, tablesOf } from './store-shape.ts';

it('describes the tables and a row of a store without its content', () => {
  const db = openChatDb(':memory:', 26);
  const sql = new Statements(db);
  expect(tablesOf(sql)).toMatchObject({
    message: expect.arrayContaining(['ROWID', 'guid', 'text', 'attributedBody', 'is_delivered']),
    chat_message_join: expect.arrayContaining(['chat_id', 'message_id']),
  });
  db.prepare(
    `INSERT INTO message (guid, text, attributedBody, date, is_from_me, is_sent, error, handle_id, associated_message_type)
     VALUES ('GUID-1', 'canary', x'00ff', 800000000000000000, 1, 0, 22, 1, 2000)`,
  ).run();
  const shape = rowShapeOf(sql, 'GUID-1');
  expect(shape).toMatchObject({
    guid: 'text',
    text: 'text',
    attributedBody: 'bytes',
    date: 'number',
    is_from_me: 1,
    is_sent: 0,
    error: 22,
    handle_id: 'number',
    associated_message_type: 2000,
    balloon_bundle_id: null,
  });
  expect(Object.keys(shape ?? {})).toEqual(tablesOf(sql)['message']);
  expect(JSON.stringify(shape)).not.toMatch(/canary|GUID/);
  expect(rowShapeOf(sql, 'GUID-2')).toBeUndefined();
  db.close();
});
