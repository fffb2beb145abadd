import type { MessageStatusFrame } from '@footbridge/protocol/frames';
import { CLASSIC_TYPES } from '@footbridge/protocol/metadata';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import type { ReactionView } from '@footbridge/simulator/simulation';
import { always, serveFiles } from '@footbridge/testkit/file-server';
import { SENDING_ENGINES } from './engine-agent.ts';
import type { Engine, EngineAgent } from './engine-agent.ts';
import { useEngine } from './engine.fixture.ts';
import { ANNA, BERT, person, PNG, withFooter } from './running-agent.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

interface Scenario extends EngineAgent {
  readonly guid: string;
  readonly chatId: number;
  /** Sends a reaction block and returns its `requestId`. */
  readonly send: (reaction: object, footer?: object, messageId?: string) => string;
  /** Sends a reaction block and waits for its status. */
  readonly react: (reaction: object, footer?: object) => Promise<MessageStatusFrame>;
  readonly reactions: () => Promise<readonly ReactionView[]>;
}

const sticker = { bytes: PNG.toString('base64'), name: 'dot' };

/** Starts agents with one inbound message to react to. */
function useScenario(engine: Engine) {
  const { run, codes } = useEngine(engine, cleanup);

  async function startScenario(macos?: string): Promise<Scenario> {
    const running = await run(macos === undefined ? {} : { macos });
    const { guid, chatId } = await running.play(person(ANNA, 'say'), { text: 'See you at nine' });
    const send: Scenario['send'] = (reaction, footer = {}, messageId = crypto.randomUUID()) => {
      const block = { chat_id: chatId, reaction: { target_message_guid: guid, ...reaction }, ...footer };
      return running.service.send({ messageId, message: withFooter('Loved it', block) }).requestId;
    };
    return {
      ...running,
      guid,
      chatId,
      send,
      react: (reaction, footer) => running.service.statusOf(send(reaction, footer)),
      reactions: async () =>
        (await running.messages()).find((message) => message.guid === guid)?.reactions ?? [],
    };
  }

  return { startScenario, codes };
}

describe.each(SENDING_ENGINES)('on %s Messages', (engine) => {
  const { startScenario, codes } = useScenario(engine);

  describe('F5 the classic Tapbacks', () => {
    it.each(CLASSIC_TYPES)('F5 %s is added and removed', async (type) => {
      const { react, reactions } = await startScenario();
      expect(await react({ kind: 'classic', action: 'add', type })).toMatchObject({ status: 'delivered' });
      expect(await reactions()).toEqual([{ from: 'me', kind: 'classic', type }]);
      expect(await react({ kind: 'classic', action: 'remove', type })).toMatchObject({ status: 'delivered' });
      expect(await reactions()).toEqual([]);
    });

    it('F2 the text before the block is not sent', async () => {
      const { react, messages } = await startScenario();
      await react({ kind: 'classic', action: 'add', type: 'love' });
      expect((await messages()).map((message) => message.text)).toEqual(['See you at nine']);
    });

    it('F5 a target guid may have its prefix', async () => {
      const { react, reactions, guid } = await startScenario();
      await react({ kind: 'classic', action: 'add', type: 'laugh', target_message_guid: `p:0/${guid}` });
      expect(await reactions()).toHaveLength(1);
    });

    it('F5 an outgoing message can be a target', async () => {
      const { service, react, messages } = await startScenario();
      const { guid } = await service.statusOf(service.send({ message: 'Mine' }).requestId);
      await react({ kind: 'classic', action: 'add', type: 'like', target_message_guid: guid });
      expect((await messages()).find((message) => message.guid === guid)?.reactions).toHaveLength(1);
    });
  });

  describe('F9 a reaction is idempotent', () => {
    it('F9 adding a present reaction is delivered without a press', async () => {
      const { react, reactions, fail } = await startScenario();
      await react({ kind: 'classic', action: 'add', type: 'love' });
      // A press would fail now, so `delivered` means that none was made.
      await fail('press_refused');
      expect(await react({ kind: 'classic', action: 'add', type: 'love' })).toMatchObject({
        status: 'delivered',
      });
      expect(await reactions()).toEqual([{ from: 'me', kind: 'classic', type: 'love' }]);
    });

    it('F9 removing an absent reaction is delivered without a press', async () => {
      const { react, reactions, fail } = await startScenario();
      await fail('press_refused');
      expect(await react({ kind: 'classic', action: 'remove', type: 'love' })).toMatchObject({
        status: 'delivered',
      });
      expect(await react({ kind: 'emoji', action: 'remove', emoji: '🔥' })).toMatchObject({
        status: 'delivered',
      });
      expect(await reactions()).toEqual([]);
    });

    it('F9 a present state needs no permission', async () => {
      const { react, fail } = await startScenario();
      await react({ kind: 'classic', action: 'add', type: 'love' });
      await fail('screen_denied');
      expect(await react({ kind: 'classic', action: 'add', type: 'love' })).toMatchObject({
        status: 'delivered',
      });
      expect(await react({ kind: 'classic', action: 'remove', type: 'like' })).toMatchObject({
        status: 'delivered',
      });
    });

    it('F9 a change fails when its press fails', async () => {
      const { react, reactions, fail, heal } = await startScenario();
      const love = (action: 'add' | 'remove') => react({ kind: 'classic', action, type: 'love' });
      await fail('press_refused');
      expect((await love('add')).error?.code).toBe(codes.press_refused);
      await heal();
      expect(await love('add')).toMatchObject({ status: 'delivered' });
      await fail('press_refused');
      expect((await love('remove')).error?.code).toBe(codes.press_refused);
      expect(await reactions()).toHaveLength(1);
    });

    it('M4 a repeated request is evaluated against the present state, also when its messageId was delivered', async () => {
      const { react, reactions, service, chatId, guid } = await startScenario();
      const reaction = { target_message_guid: guid, kind: 'classic', action: 'add', type: 'question' };
      const message = withFooter('Questioned', { chat_id: chatId, reaction });
      const add = async () => {
        const { requestId } = service.send({ messageId: 'id-1', message });
        return await service.statusOf(requestId);
      };
      expect(await add()).toMatchObject({ status: 'delivered' });
      await react({ kind: 'classic', action: 'remove', type: 'question' });
      expect(await reactions()).toEqual([]);
      expect(await add()).toMatchObject({ status: 'delivered' });
      expect(await reactions()).toEqual([{ from: 'me', kind: 'classic', type: 'question' }]);
    });

    it('M4 a repeated request fails when its state is absent and cannot be restored', async () => {
      const { react, reactions, service, chatId, guid, fail } = await startScenario();
      const reaction = { target_message_guid: guid, kind: 'classic', action: 'add', type: 'love' };
      const message = withFooter('Loved', { chat_id: chatId, reaction });
      const add = () => service.statusOf(service.send({ messageId: 'id-1', message }).requestId);
      await add();
      await react({ kind: 'classic', action: 'remove', type: 'love' });
      await fail('press_refused');
      expect((await add()).error?.code).toBe(codes.press_refused);
      expect(await reactions()).toEqual([]);
    });

    it('F9 another kind or type replaces the active reaction', async () => {
      const { react, reactions, can } = await startScenario();
      await react({ kind: 'classic', action: 'add', type: 'love' });
      await react({ kind: 'classic', action: 'add', type: 'like' });
      const like = { from: 'me', kind: 'classic', type: 'like' };
      expect(await reactions()).toEqual([like]);
      const party = { from: 'me', kind: 'emoji', emoji: '🎉' };
      const withEmoji = await react({ kind: 'emoji', action: 'add', emoji: '🎉' });
      expect(withEmoji.error?.code).toBe(can('emoji-reactions') ? undefined : 'EMOJI_NOT_IN_RECENTS');
      expect(await reactions()).toEqual([can('emoji-reactions') ? party : like]);
      const withSticker = await react({ kind: 'sticker', action: 'add', sticker });
      expect(withSticker.error?.code).toBe(can('sticker-reactions') ? undefined : 'STICKER_NOT_FEASIBLE');
      if (can('sticker-reactions'))
        expect(await reactions()).toMatchObject([{ from: 'me', kind: 'sticker' }]);
      else expect(await reactions()).toEqual([can('emoji-reactions') ? party : like]);
    });

    it('F9 removing another type than the active one changes nothing', async () => {
      const { react, reactions } = await startScenario();
      await react({ kind: 'classic', action: 'add', type: 'love' });
      expect(await react({ kind: 'classic', action: 'remove', type: 'like' })).toMatchObject({
        status: 'delivered',
      });
      expect(await reactions()).toEqual([{ from: 'me', kind: 'classic', type: 'love' }]);
    });

    it('F9 an emoji is the same with and without the variation selector', async () => {
      const { react, reactions, can, requested } = await startScenario();
      for (const emoji of ['⭐\uFE0F', '⭐']) await react({ kind: 'emoji', action: 'add', emoji });
      const presses = can('emoji-reactions') ? 1 : 0;
      expect(await reactions()).toHaveLength(presses);
      expect(await requested()).toBe(presses);
    });
  });

  describe('M6 a reaction is confirmed by the store', () => {
    it.each([
      ['emoji', { kind: 'emoji', action: 'add', emoji: '🔥' }, 'EMOJI_NOT_IN_RECENTS'],
      ['sticker', { kind: 'sticker', action: 'add', sticker }, 'STICKER_NOT_FEASIBLE'],
      ['classic', { kind: 'classic', action: 'add', type: 'love' }, codes.press_lost],
    ])('M6 a press on %s without effect is a failure', async (_name, reaction, code) => {
      const { send, fail, statusOfLost, reactions } = await startScenario();
      await fail('press_lost');
      expect((await statusOfLost(send(reaction))).error?.code).toBe(code);
      expect(await reactions()).toEqual([]);
    });

    it('M6 the same request can be tried again after a failure', async () => {
      const { send, service, fail, heal, skip, statusOfLost, reactions } = await startScenario();
      await fail('press_lost');
      const love = { kind: 'classic', action: 'add', type: 'love' };
      expect((await statusOfLost(send(love, {}, 'same'))).status).toBe('failed');
      await heal();
      // A Mac waits this long for the row of a press: a second press would undo it.
      await skip(30_000);
      expect((await service.statusOf(send(love, {}, 'same'))).status).toBe('delivered');
      expect(await reactions()).toHaveLength(1);
    });
  });
});

// Stickers are possible only there, and what is decided before a press is the same for all engines.
describe('on simulated Messages', () => {
  const { startScenario, codes } = useScenario('simulated');

  it('F9 the same sticker is not added twice, and another one replaces it', async () => {
    const { react, fail, heal, messages, guid } = await startScenario();
    const other = { bytes: Buffer.from('GIF89a then pixels;').toString('base64') };
    const add = async (image: object) =>
      (await react({ kind: 'sticker', action: 'add', sticker: image })).error?.code;
    const shown = async () => (await messages()).find((message) => message.guid === guid)?.reactions;
    expect(await add(sticker)).toBeUndefined();
    await fail('press_refused');
    expect(await add(sticker)).toBeUndefined();
    expect(await add(other)).toBe(codes.press_refused);
    await heal();
    expect(await add(other)).toBeUndefined();
    expect(await shown()).toMatchObject([{ kind: 'sticker', sticker: { mime: 'image/gif' } }]);
  });

  describe('F7 the fields of a reaction', () => {
    it.each([
      [
        'no chat_id',
        { kind: 'classic', action: 'add', type: 'love' },
        { chat_id: undefined },
        'INVALID_FRAME',
      ],
      [
        'no target',
        { kind: 'classic', action: 'add', type: 'love', target_message_guid: '' },
        {},
        'INVALID_FRAME',
      ],
      ['classic without type', { kind: 'classic', action: 'add' }, {}, 'INVALID_KIND_FIELD_COMBO'],
      ['emoji without emoji', { kind: 'emoji', action: 'add', emoji: ' ' }, {}, 'INVALID_KIND_FIELD_COMBO'],
      ['a word as emoji', { kind: 'emoji', action: 'add', emoji: 'hello' }, {}, 'INVALID_KIND_FIELD_COMBO'],
      [
        'sticker without image',
        { kind: 'sticker', action: 'add', sticker: {} },
        {},
        'INVALID_KIND_FIELD_COMBO',
      ],
      ['sticker removed', { kind: 'sticker', action: 'remove', sticker }, {}, 'INVALID_KIND_FIELD_COMBO'],
      ['an unknown kind', { kind: 'hologram', action: 'add' }, {}, 'NOT_IMPLEMENTED'],
    ])('F7 %s changes nothing', async (_name, reaction, footer, code) => {
      const { react, reactions, messages } = await startScenario();
      expect((await react(reaction, footer)).error?.code).toBe(code);
      expect(await reactions()).toEqual([]);
      expect(await messages()).toHaveLength(1);
    });
  });

  describe('F8 the image of a sticker', () => {
    it('F8 is taken from bytes, without a download, if there is a url too', async () => {
      const canary = await serveFiles(cleanup, always(PNG, 'image/png'));
      const { react, reactions } = await startScenario();
      const url = `${canary.url.replace('http:', 'https:')}/s.png`;
      await react({ kind: 'sticker', action: 'add', sticker: { ...sticker, url } });
      expect(await reactions()).toMatchObject([{ kind: 'sticker', sticker: { mime: 'image/png' } }]);
      expect(canary.visits).toEqual([]);
    });

    it('F8 is downloaded over https only', async () => {
      const canary = await serveFiles(cleanup, always(PNG, 'image/png'));
      const { react } = await startScenario();
      const status = await react({ kind: 'sticker', action: 'add', sticker: { url: `${canary.url}/s.png` } });
      expect(status).toMatchObject({ status: 'failed', error: { code: 'INVALID_KIND_FIELD_COMBO' } });
      expect(canary.visits).toEqual([]);
    });
  });

  describe('the target of a reaction', () => {
    it('M3 in another chat is TARGET_NOT_FOUND', async () => {
      const { react, play } = await startScenario();
      const { chatId } = await play(person(BERT, 'say'), { text: 'Hi' });
      const status = await react({ kind: 'classic', action: 'add', type: 'love' }, { chat_id: chatId });
      expect(status.error?.code).toBe('TARGET_NOT_FOUND');
    });

    it('M3 that was unsent is TARGET_NOT_FOUND', async () => {
      const { react, play, guid } = await startScenario();
      await play(person(ANNA, 'unsend'), { guid });
      const status = await react({ kind: 'classic', action: 'add', type: 'love' });
      expect(status.error?.code).toBe('TARGET_NOT_FOUND');
    });
  });
});

describe.each(['simulated', ...SENDING_ENGINES] as const)(
  'M5 availability by macOS version on %s Messages',
  (engine) => {
    const { startScenario } = useScenario(engine);

    // The first version with each of them, if this engine has a way.
    const since = {
      simulated: { emoji: 26, stickerReaction: 15, sticker: 15 },
      macos: { emoji: 26, stickerReaction: Infinity, sticker: Infinity },
      bluebubbles: { emoji: Infinity, stickerReaction: Infinity, sticker: Infinity },
    }[engine];

    it.each(engine === 'simulated' ? ['12.7', '14.8', '15.6', '26.1'] : ['14.8', '15.6', '26.1'])(
      'M5 on macOS %s what is not available fails with its code',
      async (macos) => {
        const { service, chatId, react, reactions, messages } = await startScenario(macos);
        const has = (first: number) => Number.parseInt(macos, 10) >= first;
        const emoji = await react({ kind: 'emoji', action: 'add', emoji: '🔥' });
        expect(emoji.error?.code).toBe(has(since.emoji) ? undefined : 'EMOJI_NOT_IN_RECENTS');
        expect(await reactions()).toHaveLength(has(since.emoji) ? 1 : 0);
        const placed = await react({ kind: 'sticker', action: 'add', sticker });
        expect(placed.error?.code).toBe(has(since.stickerReaction) ? undefined : 'STICKER_NOT_FEASIBLE');
        const kinds = (await reactions()).map(({ kind }) => kind);
        expect(kinds).toEqual(has(since.stickerReaction) ? ['sticker'] : has(since.emoji) ? ['emoji'] : []);
        const message = withFooter('A sticker', { chat_id: chatId, sticker });
        const status = await service.statusOf(service.send({ message }).requestId);
        expect(status.error?.code).toBe(has(since.sticker) ? undefined : 'COMPOSE_FAILED');
        const [, sent] = await messages();
        if (!has(since.sticker)) expect(sent).toBeUndefined();
        else expect(sent).toMatchObject({ text: '', sticker: { mime: 'image/png' }, state: 'delivered' });
      },
    );
  },
);

describe('M5 an update of macOS', () => {
  const { run } = useEngine('simulated', cleanup);

  // A Mac restarts for it, and the agent with it.
  it('M5 makes emoji reactions available', async () => {
    const { service, play } = await run({ macos: '14.8' });
    const { guid, chatId } = await play(person(ANNA, 'say'), { text: 'See you at nine' });
    await play('/world', { macos: '26.1' });
    const reaction = { kind: 'emoji', action: 'add', emoji: '🔥', target_message_guid: guid };
    const message = withFooter('', { chat_id: chatId, reaction });
    expect(await service.statusOf(service.send({ message }).requestId)).toMatchObject({
      status: 'delivered',
    });
  });
});
