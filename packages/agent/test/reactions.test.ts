import type { MessageStatusFrame } from '@footbridge/protocol/frames';
import { CLASSIC_TYPES } from '@footbridge/protocol/metadata';
import { undoList } from '@footbridge/testkit/undo';
import { afterEach, describe, expect, it } from 'vitest';

import type { ReactionView } from '../src/ports/messages/simulation.ts';
import { always, serveFiles } from './file-server.ts';
import { ANNA, BERT, person, PNG, runAgent, withFooter } from './running-agent.ts';
import type { RunningAgent } from './running-agent.ts';

const undo = undoList();
afterEach(() => undo.run());

interface Scene extends RunningAgent {
  readonly guid: string;
  readonly chatId: number;
  /** Sends a reaction block and waits for the answer. */
  readonly react: (reaction: object, footer?: object) => Promise<MessageStatusFrame>;
  readonly reactions: () => Promise<readonly ReactionView[]>;
}

/** Anna wrote "See you at nine", and the CRM reacts. */
async function scene(macos = '26.1', env: Record<string, string> = {}): Promise<Scene> {
  const running = await runAgent(undo, { env: { FOOTBRIDGE_MACOS: macos, ...env } });
  const { guid, chatId } = await running.play(person(ANNA, 'say'), { text: 'See you at nine' });
  return {
    ...running,
    guid,
    chatId,
    react: async (reaction, footer = {}) => {
      const block = { chat_id: chatId, reaction: { target_message_guid: guid, ...reaction }, ...footer };
      const message = withFooter('Loved it', block);
      return await running.service.statusOf(running.service.send({ message }).requestId);
    },
    reactions: async () =>
      (await running.messages()).find((message) => message.guid === guid)?.reactions ?? [],
  };
}

const sticker = { bytes: PNG.toString('base64'), name: 'dot' };

describe('F5 the six Tapbacks', () => {
  it.each(CLASSIC_TYPES)('F5 %s is put and taken away on every macOS', async (type) => {
    for (const macos of ['12.7', '14.8', '15.6', '26.1']) {
      const { react, reactions } = await scene(macos);
      expect(await react({ kind: 'classic', action: 'add', type })).toMatchObject({ status: 'delivered' });
      expect(await reactions()).toEqual([{ from: 'me', kind: 'classic', type }]);
      expect(await react({ kind: 'classic', action: 'remove', type })).toMatchObject({ status: 'delivered' });
      expect(await reactions()).toEqual([]);
      await undo.run();
    }
  });

  it('F2 the text before the block is not sent', async () => {
    const { react, messages } = await scene();
    await react({ kind: 'classic', action: 'add', type: 'love' });
    expect((await messages()).map((message) => message.text)).toEqual(['See you at nine']);
  });

  it('F5 a guid with its prefix names the same message', async () => {
    const { react, reactions, guid } = await scene();
    await react({ kind: 'classic', action: 'add', type: 'laugh', target_message_guid: `p:0/${guid}` });
    expect(await reactions()).toHaveLength(1);
  });

  it('F5 own messages can be reacted to as well', async () => {
    const { service, react, messages } = await scene();
    const { guid } = await service.statusOf(service.send({ message: 'Mine' }).requestId);
    await react({ kind: 'classic', action: 'add', type: 'like', target_message_guid: guid });
    expect((await messages()).find((message) => message.guid === guid)?.reactions).toHaveLength(1);
  });
});

describe('F9 the requested state is what counts', () => {
  it('F9 adding what is there is delivered and presses nothing', async () => {
    const { react, reactions, play } = await scene();
    await react({ kind: 'classic', action: 'add', type: 'love' });
    // A press would fail now: that it is delivered shows that none was made.
    await play('/world', { faults: [{ job: 'reaction', code: 'PICKER_FAILED', times: 9 }] });
    expect(await react({ kind: 'classic', action: 'add', type: 'love' })).toMatchObject({
      status: 'delivered',
    });
    expect(await reactions()).toEqual([{ from: 'me', kind: 'classic', type: 'love' }]);
  });

  it('F9 removing what is not there is delivered and presses nothing', async () => {
    const { react, reactions, play } = await scene();
    await play('/world', { faults: [{ job: 'reaction', code: 'PICKER_FAILED', times: 9 }] });
    expect(await react({ kind: 'classic', action: 'remove', type: 'love' })).toMatchObject({
      status: 'delivered',
    });
    expect(await react({ kind: 'emoji', action: 'remove', emoji: '🔥' })).toMatchObject({
      status: 'delivered',
    });
    expect(await reactions()).toEqual([]);
  });

  it('F9 what holds already needs no permission', async () => {
    const { react, play } = await scene();
    await react({ kind: 'classic', action: 'add', type: 'love' });
    await play('/world', { permissions: { accessibility: false, automation: false } });
    expect(await react({ kind: 'classic', action: 'add', type: 'love' })).toMatchObject({
      status: 'delivered',
    });
    expect(await react({ kind: 'classic', action: 'remove', type: 'like' })).toMatchObject({
      status: 'delivered',
    });
  });

  it('F9 adding and removing that needs a press fails when the press does', async () => {
    const { react, reactions, play } = await scene();
    await play('/world', { faults: [{ job: 'reaction', code: 'PICKER_FAILED', times: 1 }] });
    expect((await react({ kind: 'classic', action: 'add', type: 'love' })).error?.code).toBe('PICKER_FAILED');
    await react({ kind: 'classic', action: 'add', type: 'love' });
    await play('/world', { faults: [{ job: 'reaction', code: 'TIMEOUT', times: 1 }] });
    expect((await react({ kind: 'classic', action: 'remove', type: 'love' })).error?.code).toBe('TIMEOUT');
    expect(await reactions()).toHaveLength(1);
  });

  it('F9 one active reaction per message: another kind or type replaces it', async () => {
    const { react, reactions } = await scene();
    await react({ kind: 'classic', action: 'add', type: 'love' });
    await react({ kind: 'classic', action: 'add', type: 'like' });
    expect(await reactions()).toEqual([{ from: 'me', kind: 'classic', type: 'like' }]);
    await react({ kind: 'emoji', action: 'add', emoji: '🎉' });
    expect(await reactions()).toEqual([{ from: 'me', kind: 'emoji', emoji: '🎉' }]);
    await react({ kind: 'sticker', action: 'add', sticker });
    expect(await reactions()).toMatchObject([{ from: 'me', kind: 'sticker' }]);
  });

  it('F9 removing another type than the present one changes nothing', async () => {
    const { react, reactions } = await scene();
    await react({ kind: 'classic', action: 'add', type: 'love' });
    expect(await react({ kind: 'classic', action: 'remove', type: 'like' })).toMatchObject({
      status: 'delivered',
    });
    expect(await reactions()).toEqual([{ from: 'me', kind: 'classic', type: 'love' }]);
  });

  it('F9 with and without the variation selector it is the same emoji', async () => {
    const { react, reactions } = await scene();
    await react({ kind: 'emoji', action: 'add', emoji: '❤\uFE0F' });
    await react({ kind: 'emoji', action: 'add', emoji: '❤' });
    expect(await reactions()).toHaveLength(1);
  });

  it('F9 the same sticker twice is one, another one takes its place', async () => {
    const { react, play, messages, guid } = await scene();
    await react({ kind: 'sticker', action: 'add', sticker });
    await play('/world', { faults: [{ job: 'reaction', code: 'PICKER_FAILED', times: 1 }] });
    expect(await react({ kind: 'sticker', action: 'add', sticker })).toMatchObject({ status: 'delivered' });
    const other = { bytes: Buffer.from('GIF89a then pixels;').toString('base64') };
    expect((await react({ kind: 'sticker', action: 'add', sticker: other })).error?.code).toBe(
      'PICKER_FAILED',
    );
    await react({ kind: 'sticker', action: 'add', sticker: other });
    const shown = (await messages()).find((message) => message.guid === guid)?.reactions;
    expect(shown).toMatchObject([{ kind: 'sticker', sticker: { mime: 'image/gif' } }]);
  });
});

describe('F7 what a reaction must carry', () => {
  it.each([
    ['no chat_id', { kind: 'classic', action: 'add', type: 'love' }, { chat_id: undefined }, 'INVALID_FRAME'],
    [
      'no target',
      { kind: 'classic', action: 'add', type: 'love', target_message_guid: '' },
      {},
      'INVALID_FRAME',
    ],
    ['classic without type', { kind: 'classic', action: 'add' }, {}, 'INVALID_KIND_FIELD_COMBO'],
    ['emoji without emoji', { kind: 'emoji', action: 'add', emoji: ' ' }, {}, 'INVALID_KIND_FIELD_COMBO'],
    [
      'sticker without image',
      { kind: 'sticker', action: 'add', sticker: {} },
      {},
      'INVALID_KIND_FIELD_COMBO',
    ],
    ['sticker removed', { kind: 'sticker', action: 'remove', sticker }, {}, 'INVALID_KIND_FIELD_COMBO'],
    ['a kind of the future', { kind: 'hologram', action: 'add' }, {}, 'NOT_IMPLEMENTED'],
  ])('F7 %s: nothing happens', async (_name, reaction, footer, code) => {
    const { react, reactions, messages } = await scene();
    expect((await react(reaction, footer)).error?.code).toBe(code);
    expect(await reactions()).toEqual([]);
    expect(await messages()).toHaveLength(1);
  });
});

describe('F8 the image of a sticker', () => {
  it('F8 bytes win over a url, and then nothing is fetched', async () => {
    const canary = await serveFiles(undo, always(PNG, 'image/png'));
    const { react, reactions } = await scene();
    const url = `${canary.url.replace('http:', 'https:')}/s.png`;
    await react({ kind: 'sticker', action: 'add', sticker: { ...sticker, url } });
    expect(await reactions()).toMatchObject([{ kind: 'sticker', sticker: { mime: 'image/png' } }]);
    expect(canary.visits).toEqual([]);
  });

  it('F8 a url must be https', async () => {
    const canary = await serveFiles(undo, always(PNG, 'image/png'));
    const { react } = await scene();
    const status = await react({ kind: 'sticker', action: 'add', sticker: { url: `${canary.url}/s.png` } });
    expect(status).toMatchObject({ status: 'failed', error: { code: 'INVALID_KIND_FIELD_COMBO' } });
    expect(canary.visits).toEqual([]);
  });
});

describe('M5 availability by macOS version', () => {
  it.each([
    ['12.7', 'EMOJI_NOT_IN_RECENTS'],
    ['14.8', 'EMOJI_NOT_IN_RECENTS'],
    ['15.6', 'EMOJI_NOT_IN_RECENTS'],
    ['26.1', undefined],
  ])('M5 emoji reactions on macOS %s', async (macos, code) => {
    const { react, reactions } = await scene(macos);
    expect((await react({ kind: 'emoji', action: 'add', emoji: '🔥' })).error?.code).toBe(code);
    expect(await reactions()).toHaveLength(code === undefined ? 1 : 0);
  });

  it.each([
    ['12.7', 'STICKER_NOT_FEASIBLE'],
    ['14.8', 'STICKER_NOT_FEASIBLE'],
    ['15.6', undefined],
    ['26.1', undefined],
  ])('M5 sticker reactions on macOS %s', async (macos, code) => {
    const { react, reactions } = await scene(macos);
    expect((await react({ kind: 'sticker', action: 'add', sticker })).error?.code).toBe(code);
    expect(await reactions()).toHaveLength(code === undefined ? 1 : 0);
  });

  it.each([
    ['12.7', 'COMPOSE_FAILED'],
    ['14.8', 'COMPOSE_FAILED'],
    ['15.6', undefined],
    ['26.1', undefined],
  ])('M5 standalone stickers on macOS %s', async (macos, code) => {
    const { service, chatId, messages } = await scene(macos);
    const message = withFooter('A sticker', { chat_id: chatId, sticker });
    const status = await service.statusOf(service.send({ message }).requestId);
    expect(status.error?.code).toBe(code);
    const [, sent] = await messages();
    if (code !== undefined) expect(sent).toBeUndefined();
    else expect(sent).toMatchObject({ text: '', sticker: { mime: 'image/png' }, state: 'delivered' });
  });

  it('M5 an update of macOS brings the missing ones', async () => {
    const { react, play } = await scene('14.8');
    await play('/world', { macos: '26.1' });
    expect(await react({ kind: 'emoji', action: 'add', emoji: '🔥' })).toMatchObject({ status: 'delivered' });
  });
});

describe('M6 a reaction counts when the store shows it', () => {
  it.each([
    ['emoji', { kind: 'emoji', action: 'add', emoji: '🔥' }, 'EMOJI_NOT_IN_RECENTS'],
    ['sticker', { kind: 'sticker', action: 'add', sticker }, 'STICKER_NOT_FEASIBLE'],
    ['classic', { kind: 'classic', action: 'add', type: 'love' }, 'TIMEOUT'],
  ])('M6 a press on %s that lands nowhere', async (_name, reaction, code) => {
    const { react, play } = await scene();
    await play('/world', { faults: [{ job: 'reaction', code: 'EMOJI_NOT_IN_RECENTS', times: 1 }] });
    const started = performance.now();
    expect((await react(reaction)).error?.code).toBe(code);
    expect(performance.now() - started).toBeGreaterThan(140);
  });

  it('M6 after a failure the same request may be tried again', async () => {
    const { service, play, reactions, chatId, guid } = await scene();
    await play('/world', { faults: [{ job: 'reaction', code: 'EMOJI_NOT_IN_RECENTS', times: 1 }] });
    const reaction = { kind: 'emoji', action: 'add', emoji: '🔥', target_message_guid: guid } as const;
    const frame = { messageId: 'same', message: withFooter('', { chat_id: chatId, reaction }) };
    expect((await service.statusOf(service.send(frame).requestId)).status).toBe('failed');
    expect((await service.statusOf(service.send(frame).requestId)).status).toBe('delivered');
    expect(await reactions()).toHaveLength(1);
  });
});

describe('who may see it', () => {
  it('M3 a message of another conversation is TARGET_NOT_FOUND', async () => {
    const { react, play } = await scene();
    const { chatId } = await play(person(BERT, 'say'), { text: 'Hi' });
    const status = await react({ kind: 'classic', action: 'add', type: 'love' }, { chat_id: chatId });
    expect(status.error?.code).toBe('TARGET_NOT_FOUND');
  });

  it('M3 a message that was taken back is TARGET_NOT_FOUND', async () => {
    const { react, play, guid } = await scene();
    await play(person(ANNA, 'unsend'), { guid });
    const status = await react({ kind: 'classic', action: 'add', type: 'love' });
    expect(status.error?.code).toBe('TARGET_NOT_FOUND');
  });
});
