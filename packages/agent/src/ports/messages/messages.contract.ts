import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';

import type { Messages, SendResult } from './messages.ts';

const ANNA = '+15550100001';
const BERT = '+15550100002';

/** What every engine owes its callers. The people who are written to must exist and take everything. */
export function messagesContract(open: () => Messages): void {
  const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
  let messages: Messages;
  beforeEach(() => {
    messages = open();
  });
  afterEach(() => messages.close());
  afterAll(() => rmSync(folder, { recursive: true }));

  const text = async (body: string, to = ANNA): Promise<string> =>
    guidOf(
      await messages.send({ kind: 'text', text: body }, { to: 'person', handle: to, service: 'iMessage' }),
    );

  it('a text that was sent is in the store, as an own one, in a chat with that person', async () => {
    const guid = await text('Hello');
    const row = messages.store.rowOf(guid);
    expect(row).toMatchObject({ fromMe: true, text: 'Hello', isMessage: true, service: 'iMessage' });
    expect(messages.store.chat(row?.chatId ?? 0)).toMatchObject({ isGroup: false, recipients: [ANNA] });
    expect(messages.store.newestRowid()).toBe(row?.rowid);
  });

  it('the same person is the same chat, another service another one', async () => {
    const [first, second] = [await text('One'), await text('Two')];
    const sms = guidOf(
      await messages.send({ kind: 'text', text: 'Three' }, { to: 'person', handle: ANNA, service: 'SMS' }),
    );
    const chatOf = (guid: string): number | undefined => messages.store.rowOf(guid)?.chatId;
    expect(chatOf(second)).toBe(chatOf(first));
    expect(chatOf(sms)).not.toBe(chatOf(first));
  });

  it('a group is made once and found again by its people', async () => {
    const destination = { to: 'group', recipients: [ANNA, BERT], service: 'iMessage' } as const;
    const first = guidOf(await messages.send({ kind: 'text', text: 'One' }, destination));
    const chat = messages.store.groupOf([BERT, ANNA]);
    expect(messages.store.rowOf(first)?.chatId).toBe(chat?.id);
    const second = guidOf(
      await messages.send({ kind: 'text', text: 'Two' }, { ...destination, recipients: [BERT, ANNA] }),
    );
    expect(messages.store.rowOf(second)?.chatId).toBe(chat?.id);
  });

  it('a chat that is not there is a failure, and nothing is sent', async () => {
    const before = messages.store.newestRowid();
    const sent = await messages.send({ kind: 'text', text: 'Hi' }, { to: 'chat', chatId: 4711 });
    expect(sent).toMatchObject({ result: 'failed', code: 'IMESSAGE_ERROR' });
    expect(messages.store.newestRowid()).toBe(before);
  });

  it('a file is sent with its name and kind', async () => {
    const path = join(folder, 'note.txt');
    writeFileSync(path, 'note');
    const guid = guidOf(
      await messages.send(
        { kind: 'file', file: { path, name: 'note.txt', mime: 'text/plain' } },
        { to: 'person', handle: ANNA, service: 'iMessage' },
      ),
    );
    expect(messages.store.rowOf(guid)?.attachments).toMatchObject([
      { name: 'note.txt', mime: 'text/plain', ready: true, isSticker: false },
    ]);
  });

  it('a press puts a reaction, the same press takes it away, another one replaces it', async () => {
    const targetGuid = await text('React to me');
    const chatId = messages.store.rowOf(targetGuid)?.chatId ?? 0;
    const press = async (type: 'love' | 'like'): Promise<unknown> => {
      await messages.react({ chatId, targetGuid, tapback: { kind: 'classic', type } });
      return messages.store.ownReaction(targetGuid);
    };
    expect(await press('love')).toEqual({ kind: 'classic', type: 'love' });
    expect(await press('love')).toBeUndefined();
    expect(await press('love')).toEqual({ kind: 'classic', type: 'love' });
    expect(await press('like')).toEqual({ kind: 'classic', type: 'like' });
  });

  it('a press on a message that is not shown fails', async () => {
    const tapback = { kind: 'classic', type: 'love' } as const;
    expect(await messages.react({ chatId: 1, targetGuid: 'NOWHERE', tapback })).toMatchObject({
      result: 'failed',
      code: 'TARGET_NOT_FOUND',
    });
  });

  it('whoever watches hears of changes until he stops', async () => {
    let heard = 0;
    const unwatch = messages.watch(() => {
      heard += 1;
    });
    await text('One');
    expect(heard).toBeGreaterThan(0);
    unwatch();
    const before = heard;
    await text('Two');
    expect(heard).toBe(before);
  });
}

function guidOf(sent: SendResult): string {
  expect(sent.result).toBe('sent');
  return sent.result === 'sent' ? sent.guid : '';
}
