import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { ClassicType } from '@footbridge/protocol/metadata';
import { until } from '@footbridge/testkit/until';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';

import type { Chat, Messages } from './messages.ts';
import type { Outcome } from '../../outcome.ts';

const ANNA = '+15550100001';
const BERT = '+15550100002';

/** The tests that every engine must pass. The recipients must exist and accept every message. */
export function messagesContract(open: () => Messages | Promise<Messages>): void {
  const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
  let messages: Messages;
  beforeEach(async () => {
    messages = await open();
  });
  afterEach(() => messages.close());
  afterAll(() => rmSync(folder, { recursive: true }));

  const text = async (body: string, to = ANNA): Promise<string> =>
    guidOf(
      await messages.send({ kind: 'text', text: body }, { to: 'person', handle: to, service: 'iMessage' }),
    );

  it('stores a sent text as outgoing, in a chat with the recipient', async () => {
    const guid = await text('Hello');
    const row = messages.store.rowByGuid(guid);
    expect(row).toMatchObject({ fromMe: true, text: 'Hello', isMessage: true, service: 'iMessage' });
    expect(messages.store.chat(row?.chatId ?? 0)).toMatchObject({ isGroup: false, recipients: [ANNA] });
    expect(messages.store.newestRowid()).toBe(row?.rowid);
  });

  it('uses one chat with a person for one service, and every row names its service', async () => {
    const [first, second] = [await text('One'), await text('Two')];
    const sms = guidOf(
      await messages.send({ kind: 'text', text: 'Three' }, { to: 'person', handle: ANNA, service: 'SMS' }),
    );
    const chatOf = (guid: string): number | undefined => messages.store.rowByGuid(guid)?.chatId;
    expect(chatOf(second)).toBe(chatOf(first));
    expect(messages.store.rowByGuid(sms)?.service).toBe('SMS');
    // Since macOS 26 both services can be in one chat.
    expect(messages.store.chat(chatOf(sms) ?? 0)).toMatchObject({ isGroup: false, recipients: [ANNA] });
    expect(messages.store.directChat(ANNA, 'SMS')?.id).toBe(chatOf(sms));
    expect(messages.store.directChat(ANNA, 'iMessage')?.id).toBe(chatOf(first));
    expect(messages.store.directChat(BERT, 'iMessage')).toBeUndefined();
  });

  const groupWith = (...recipients: string[]): Chat | undefined => {
    const group = messages.store.groupOf(recipients, 'iMessage');
    return group === 'ambiguous' ? undefined : group;
  };

  it('creates a group once and finds it again by its recipients', async () => {
    const destination = { to: 'group', recipients: [ANNA, BERT], service: 'iMessage' } as const;
    const first = guidOf(await messages.send({ kind: 'text', text: 'One' }, destination));
    const chat = groupWith(BERT, ANNA);
    expect(messages.store.rowByGuid(first)?.chatId).toBe(chat?.id);
    const second = guidOf(
      await messages.send({ kind: 'text', text: 'Two' }, { ...destination, recipients: [BERT, ANNA] }),
    );
    expect(messages.store.rowByGuid(second)?.chatId).toBe(chat?.id);
  });

  it('fails and sends nothing when the chat does not exist', async () => {
    const before = messages.store.newestRowid();
    const sent = await messages.send({ kind: 'text', text: 'Hi' }, { to: 'chat', chatId: 4711 });
    expect(sent).toMatchObject({ state: 'failed', code: 'IMESSAGE_ERROR' });
    expect(messages.store.newestRowid()).toBe(before);
  });

  it('sends a file with its name and MIME type', async () => {
    const path = join(folder, 'note.txt');
    writeFileSync(path, 'note');
    const guid = guidOf(
      await messages.send(
        { kind: 'file', file: { path, name: 'note.txt', mime: 'text/plain' } },
        { to: 'person', handle: ANNA, service: 'iMessage' },
      ),
    );
    // Messages can mark a message as sent before it has marked the file as transferred.
    const attachments = () => messages.store.rowByGuid(guid)?.attachments;
    await until(() => attachments()?.[0]?.state === 'ready');
    expect(attachments()).toMatchObject([{ name: 'note.txt', mime: 'text/plain', isSticker: false }]);
  });

  it('fails to react to a message that does not exist', async () => {
    const tapback = { kind: 'classic', type: 'love' } as const;
    expect(await messages.react({ chatId: 1, targetGuid: 'NOWHERE', tapback })).toMatchObject({
      state: 'failed',
      code: 'TARGET_NOT_FOUND',
    });
  });

  it('M4 finds the outcome of an interrupted send in the store', async () => {
    const destination = { to: 'person', handle: ANNA, service: 'iMessage' } as const;
    await text('Hello');
    const since = messages.store.position();
    const outcome = (body: string, from = since): Promise<Outcome> =>
      messages.outcomeOf({ kind: 'text', text: body }, destination, from);
    // An earlier message with the same text is not the one. An engine can know that nothing was sent after it.
    expect(await outcome('Hello')).not.toMatchObject({ state: 'delivered' });
    // The owner can write on a phone at the same moment, also to other people.
    await text('From my phone');
    await text('Hello', BERT);
    expect(await outcome('Hello')).toMatchObject({ state: 'unknown' });
    const guid = await text('Hello');
    expect(await outcome('Hello')).toEqual({ state: 'delivered', guid });
    expect(await outcome('Hello', since + 2 ** 32)).not.toMatchObject({ state: 'delivered' });
  });

  it('M4 finds the outcome of an interrupted send to a group', async () => {
    const since = messages.store.position();
    const destination = { to: 'group', recipients: [ANNA, BERT], service: 'iMessage' } as const;
    const message = { kind: 'text', text: 'All of you' } as const;
    await text('All of you');
    expect(await messages.outcomeOf(message, destination, since)).toMatchObject({ state: 'unknown' });
    const guid = guidOf(await messages.send(message, destination));
    const reversed = { ...destination, recipients: [BERT, ANNA] };
    expect(await messages.outcomeOf(message, reversed, since)).toEqual({ state: 'delivered', guid });
  });

  it('M11 gives a chat an id that contains the generation of the store', async () => {
    const chatId = messages.store.rowByGuid(await text('Hello'))?.chatId ?? 0;
    expect(Math.floor(chatId / 2 ** 32)).toBe(messages.store.generation());
    expect(messages.store.chat(chatId - 2 ** 32)).toBeUndefined();
    expect(messages.store.chat(chatId + 2 ** 32)).toBeUndefined();
  });

  it('names each capability once', () => {
    const capabilities = messages.capabilities();
    expect(new Set(capabilities).size).toBe(capabilities.length);
  });

  it('calls a listener on changes until it unsubscribes', async () => {
    let calls = 0;
    const unwatch = messages.watch(() => {
      calls += 1;
    });
    await text('One');
    // An engine can announce a change later than it happens.
    expect(await until(() => calls > 0)).toBe(true);
    unwatch();
    const before = calls;
    await text('Two');
    expect(calls).toBe(before);
  });
}

/** The tests of reactions. On a real Mac they need a screen. */
export function reactionContract(open: () => Messages | Promise<Messages>): void {
  let messages: Messages;
  beforeEach(async () => {
    messages = await open();
  });
  afterEach(() => messages.close());

  it('adds a reaction with a press, removes it with the same press and replaces it with another', async () => {
    const targetGuid = guidOf(
      await messages.send(
        { kind: 'text', text: 'React to me' },
        { to: 'person', handle: ANNA, service: 'iMessage' },
      ),
    );
    const chatId = messages.store.rowByGuid(targetGuid)?.chatId ?? 0;
    const press = async (type: 'love' | 'like', expected: ClassicType | undefined): Promise<void> => {
      const tapback = { kind: 'classic', type } as const;
      expect(await messages.react({ chatId, targetGuid, tapback })).toEqual({ state: 'pressed' });
      // The row can appear later than the press.
      const isThere = (): boolean => {
        const reaction = messages.store.ownReaction(targetGuid);
        return (reaction?.kind === 'classic' ? reaction.type : undefined) === expected;
      };
      expect(await until(isThere, { what: `the reaction after ${type}` })).toBe(true);
    };
    await press('love', 'love');
    await press('love', undefined);
    await press('love', 'love');
    await press('like', 'like');
  });
}

function guidOf(sent: Outcome): string {
  expect(sent.state).toBe('delivered');
  return sent.state === 'delivered' ? sent.guid : '';
}
