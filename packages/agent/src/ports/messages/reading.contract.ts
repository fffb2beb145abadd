import type { SimulatedMacos } from '@footbridge/testkit/macos';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { Messages } from './messages.ts';
import type { StoreMemory } from './store-generation.ts';

const ANNA = '+15550100001';
const BERT = '+15550100002';

/** The tests of reading that every engine must pass while Messages, another process, writes the store in steps. */
export function readingContract(
  macos: () => SimulatedMacos,
  open: (memory: StoreMemory) => Messages | Promise<Messages>,
): void {
  describe('over a store that Messages writes', () => {
    let memory: StoreMemory;
    let messages: Messages;
    beforeEach(async () => {
      memory = emptyMemory();
      await macos().messages.rebuild();
      messages = await open(memory);
    });
    afterEach(() => messages.close());

    it('reads a body that is only in attributedBody', async () => {
      const writer = macos().messages;
      const { guid } = await writer.write({ from: ANNA, text: 'Hello', bodyForm: 'attributed' });
      await writer.settled();
      expect(messages.store.rowByGuid(guid)).toMatchObject({
        text: 'Hello',
        bodyState: 'read',
        sender: ANNA,
      });
    });

    it('returns a row before it is joined to its chat and has its body', async () => {
      const writer = macos().messages;
      await writer.hold();
      const { guid } = await writer.write({ from: ANNA, text: 'Hello' });
      const early = messages.store.rowByGuid(guid);
      await writer.release();
      await writer.settled();
      expect(early).toMatchObject({ chatId: undefined, text: '', bodyState: 'pending' });
      const chat = messages.store.directChat(ANNA, 'iMessage');
      expect(chat?.recipients).toEqual([ANNA]);
      expect(messages.store.rowByGuid(guid)).toMatchObject({ chatId: chat?.id, text: 'Hello' });
    });

    it('recognises the second own row of a text with a link as its preview', async () => {
      const writer = macos().messages;
      const since = messages.store.newestRowid();
      const chat = { members: [ANNA], service: 'iMessage' };
      const text = 'See https://example.com/page';
      const { guid } = await writer.write({ from: 'me', chat, text, linkPreview: true });
      await writer.settled();
      const rows = messages.store.rowsAfter(since, 10);
      expect(rows.map((row) => [row.fromMe, row.previewOf])).toEqual([
        [true, undefined],
        [true, guid],
      ]);
    });

    it('M11 does not know a chat of a store that was rebuilt while the agent did not run', async () => {
      const writer = macos().messages;
      const before = await writer.write({ from: ANNA, text: 'Before' });
      await writer.settled();
      const chatId = messages.store.rowByGuid(before.guid)?.chatId ?? 0;
      expect(messages.store.chat(chatId)?.recipients).toEqual([ANNA]);
      const generation = messages.store.generation();
      messages.close();
      await writer.rebuild();
      const after = await writer.write({ from: BERT, text: 'After' });
      await writer.settled();
      // The number alone would find the other person.
      expect(after.chatRowid).toBe(before.chatRowid);
      messages = await open(memory);
      expect(messages.store.chat(chatId)).toBeUndefined();
      expect(messages.store.directChat(BERT, 'iMessage')?.recipients).toEqual([BERT]);
      expect(messages.store.generation()).toBe(generation + 1);
      expect(messages.store.state()).toBe('replaced');
    });
  });
}

/** A memory that was never used, for a store that is opened for the first time. */
export function emptyMemory(): StoreMemory {
  let saved: string | undefined;
  return {
    load: () => saved,
    save: (value) => {
      saved = value;
    },
  };
}
