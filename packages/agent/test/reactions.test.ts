import type { MessageStatusFrame } from '@footbridge/protocol/frames';
import { CLASSIC_TYPES } from '@footbridge/protocol/metadata';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import type { ReactionView } from '../src/ports/messages/simulation.ts';
import { always, serveFiles } from './file-server.ts';
import { ANNA, BERT, person, PNG, runAgent, withFooter } from './running-agent.ts';
import type { RunningAgent } from './running-agent.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

interface Scenario extends RunningAgent {
  readonly guid: string;
  readonly chatId: number;
  /** Sends a reaction block and waits for its status. */
  readonly react: (reaction: object, footer?: object) => Promise<MessageStatusFrame>;
  readonly reactions: () => Promise<readonly ReactionView[]>;
}

/** Starts an agent with one inbound message to react to. */
async function startScenario(macos = '26.1', env: Record<string, string> = {}): Promise<Scenario> {
  const running = await runAgent(cleanup, { env: { FOOTBRIDGE_MACOS: macos, ...env } });
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

describe('F5 the classic Tapbacks', () => {
  it.each(CLASSIC_TYPES)('F5 %s is added and removed on every macOS version', async (type) => {
    for (const macos of ['12.7', '14.8', '15.6', '26.1']) {
      const { react, reactions } = await startScenario(macos);
      expect(await react({ kind: 'classic', action: 'add', type })).toMatchObject({ status: 'delivered' });
      expect(await reactions()).toEqual([{ from: 'me', kind: 'classic', type }]);
      expect(await react({ kind: 'classic', action: 'remove', type })).toMatchObject({ status: 'delivered' });
      expect(await reactions()).toEqual([]);
      await cleanup.run();
    }
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
    const { react, reactions, play } = await startScenario();
    await react({ kind: 'classic', action: 'add', type: 'love' });
    // A press would fail now, so `delivered` means that none was made.
    await play('/world', { faults: [{ job: 'reaction', code: 'PICKER_FAILED', times: 9 }] });
    expect(await react({ kind: 'classic', action: 'add', type: 'love' })).toMatchObject({
      status: 'delivered',
    });
    expect(await reactions()).toEqual([{ from: 'me', kind: 'classic', type: 'love' }]);
  });

  it('F9 removing an absent reaction is delivered without a press', async () => {
    const { react, reactions, play } = await startScenario();
    await play('/world', { faults: [{ job: 'reaction', code: 'PICKER_FAILED', times: 9 }] });
    expect(await react({ kind: 'classic', action: 'remove', type: 'love' })).toMatchObject({
      status: 'delivered',
    });
    expect(await react({ kind: 'emoji', action: 'remove', emoji: '🔥' })).toMatchObject({
      status: 'delivered',
    });
    expect(await reactions()).toEqual([]);
  });

  it('F9 a present state needs no permission', async () => {
    const { react, play } = await startScenario();
    await react({ kind: 'classic', action: 'add', type: 'love' });
    await play('/world', { permissions: { accessibility: false, automation: false } });
    expect(await react({ kind: 'classic', action: 'add', type: 'love' })).toMatchObject({
      status: 'delivered',
    });
    expect(await react({ kind: 'classic', action: 'remove', type: 'like' })).toMatchObject({
      status: 'delivered',
    });
  });

  it('F9 a change fails when its press fails', async () => {
    const { react, reactions, play } = await startScenario();
    await play('/world', { faults: [{ job: 'reaction', code: 'PICKER_FAILED', times: 1 }] });
    expect((await react({ kind: 'classic', action: 'add', type: 'love' })).error?.code).toBe('PICKER_FAILED');
    await react({ kind: 'classic', action: 'add', type: 'love' });
    await play('/world', { faults: [{ job: 'reaction', code: 'TIMEOUT', times: 1 }] });
    expect((await react({ kind: 'classic', action: 'remove', type: 'love' })).error?.code).toBe('TIMEOUT');
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
    const { react, reactions, service, chatId, guid, play } = await startScenario();
    const reaction = { target_message_guid: guid, kind: 'classic', action: 'add', type: 'love' };
    const message = withFooter('Loved', { chat_id: chatId, reaction });
    const add = () => service.statusOf(service.send({ messageId: 'id-1', message }).requestId);
    await add();
    await react({ kind: 'classic', action: 'remove', type: 'love' });
    await play('/world', { faults: [{ job: 'reaction', code: 'PICKER_FAILED', times: 1 }] });
    expect((await add()).error?.code).toBe('PICKER_FAILED');
    expect(await reactions()).toEqual([]);
  });

  it('F9 another kind or type replaces the active reaction', async () => {
    const { react, reactions } = await startScenario();
    await react({ kind: 'classic', action: 'add', type: 'love' });
    await react({ kind: 'classic', action: 'add', type: 'like' });
    expect(await reactions()).toEqual([{ from: 'me', kind: 'classic', type: 'like' }]);
    await react({ kind: 'emoji', action: 'add', emoji: '🎉' });
    expect(await reactions()).toEqual([{ from: 'me', kind: 'emoji', emoji: '🎉' }]);
    await react({ kind: 'sticker', action: 'add', sticker });
    expect(await reactions()).toMatchObject([{ from: 'me', kind: 'sticker' }]);
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
    const { react, reactions } = await startScenario();
    await react({ kind: 'emoji', action: 'add', emoji: '❤\uFE0F' });
    await react({ kind: 'emoji', action: 'add', emoji: '❤' });
    expect(await reactions()).toHaveLength(1);
  });

  it('F9 the same sticker is not added twice, and another one replaces it', async () => {
    const { react, play, messages, guid } = await startScenario();
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

describe('F7 the fields of a reaction', () => {
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

describe('M5 availability by macOS version', () => {
  it.each([
    ['12.7', 'EMOJI_NOT_IN_RECENTS'],
    ['14.8', 'EMOJI_NOT_IN_RECENTS'],
    ['15.6', 'EMOJI_NOT_IN_RECENTS'],
    ['26.1', undefined],
  ])('M5 an emoji reaction on macOS %s ends with %s', async (macos, code) => {
    const { react, reactions } = await startScenario(macos);
    expect((await react({ kind: 'emoji', action: 'add', emoji: '🔥' })).error?.code).toBe(code);
    expect(await reactions()).toHaveLength(code === undefined ? 1 : 0);
  });

  it.each([
    ['12.7', 'STICKER_NOT_FEASIBLE'],
    ['14.8', 'STICKER_NOT_FEASIBLE'],
    ['15.6', undefined],
    ['26.1', undefined],
  ])('M5 a sticker reaction on macOS %s ends with %s', async (macos, code) => {
    const { react, reactions } = await startScenario(macos);
    expect((await react({ kind: 'sticker', action: 'add', sticker })).error?.code).toBe(code);
    expect(await reactions()).toHaveLength(code === undefined ? 1 : 0);
  });

  it.each([
    ['12.7', 'COMPOSE_FAILED'],
    ['14.8', 'COMPOSE_FAILED'],
    ['15.6', undefined],
    ['26.1', undefined],
  ])('M5 a sticker message on macOS %s ends with %s', async (macos, code) => {
    const { service, chatId, messages } = await startScenario(macos);
    const message = withFooter('A sticker', { chat_id: chatId, sticker });
    const status = await service.statusOf(service.send({ message }).requestId);
    expect(status.error?.code).toBe(code);
    const [, sent] = await messages();
    if (code !== undefined) expect(sent).toBeUndefined();
    else expect(sent).toMatchObject({ text: '', sticker: { mime: 'image/png' }, state: 'delivered' });
  });

  it('M5 an emoji reaction works after an update of macOS', async () => {
    const { react, play } = await startScenario('14.8');
    await play('/world', { macos: '26.1' });
    expect(await react({ kind: 'emoji', action: 'add', emoji: '🔥' })).toMatchObject({ status: 'delivered' });
  });
});

describe('M6 a reaction is confirmed by the store', () => {
  it.each([
    ['emoji', { kind: 'emoji', action: 'add', emoji: '🔥' }, 'EMOJI_NOT_IN_RECENTS'],
    ['sticker', { kind: 'sticker', action: 'add', sticker }, 'STICKER_NOT_FEASIBLE'],
    ['classic', { kind: 'classic', action: 'add', type: 'love' }, 'TIMEOUT'],
  ])('M6 a press on %s without effect is a failure', async (_name, reaction, code) => {
    const { react, play } = await startScenario();
    await play('/world', { faults: [{ job: 'reaction', code: 'EMOJI_NOT_IN_RECENTS', times: 1 }] });
    const started = performance.now();
    expect((await react(reaction)).error?.code).toBe(code);
    expect(performance.now() - started).toBeGreaterThan(140);
  });

  it('M6 the same request can be tried again after a failure', async () => {
    const { service, play, reactions, chatId, guid } = await startScenario();
    await play('/world', { faults: [{ job: 'reaction', code: 'EMOJI_NOT_IN_RECENTS', times: 1 }] });
    const reaction = { kind: 'emoji', action: 'add', emoji: '🔥', target_message_guid: guid } as const;
    const frame = { messageId: 'same', message: withFooter('', { chat_id: chatId, reaction }) };
    expect((await service.statusOf(service.send(frame).requestId)).status).toBe('failed');
    expect((await service.statusOf(service.send(frame).requestId)).status).toBe('delivered');
    expect(await reactions()).toHaveLength(1);
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
