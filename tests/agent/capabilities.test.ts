import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { always, serveFiles } from '@footbridge/testkit/file-server';
import { ANNA, BERT, person, PNG, runAgent, withFooter } from './running-agent.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const file = { name: 'photo.png', mime: 'image/png', base64: PNG.toString('base64') };
const sticker = { bytes: file.base64, name: 'dot' };

/** Every capability on each macOS version that behaves differently. */
describe.each([
  ['14.8', { emojiOut: false, stickers: false, emojiIn: false }],
  ['15.6', { emojiOut: false, stickers: true, emojiIn: true }],
  ['26.1', { emojiOut: true, stickers: true, emojiIn: true }],
] as const)('every capability on macOS %s', (macos, can) => {
  it(`M5 works from the CRM to people on macOS ${macos}`, async () => {
    const { service, play, messages } = await runAgent(cleanup, { env: { FOOTBRIDGE_MACOS: macos } });
    const sounds = await serveFiles(cleanup, always(Buffer.from('sound'), 'audio/mp4'));
    const { guid, chatId } = await play(person(ANNA, 'say'), { text: 'Hello' });
    const react = (reaction: object): string =>
      withFooter('', {
        chat_id: chatId,
        reaction: { action: 'add', target_message_guid: guid, ...reaction },
      });
    const status = async (message: string, attachments: string[] = []): Promise<string> => {
      const frame = await service.statusOf(service.send({ message, attachments }).requestId);
      return frame.error?.code ?? frame.status;
    };
    expect(await status('A text')).toBe('delivered');
    expect(await status(withFooter('To all', { recipients: [ANNA, BERT] }))).toBe('delivered');
    expect(await status('A file', [`${sounds.url}/a.m4a`])).toBe('delivered');
    expect(await status(withFooter('', { voice: { duration_ms: 900 } }), [`${sounds.url}/v.m4a`])).toBe(
      'delivered',
    );
    expect(await status(withFooter('Wow', { animation: { effect: 'fireworks', kind: 'screen' } }))).toBe(
      'delivered',
    );
    expect(await status(react({ kind: 'classic', type: 'emphasize' }))).toBe('delivered');
    expect(await status(react({ kind: 'emoji', emoji: '🫡' }))).toBe(
      can.emojiOut ? 'delivered' : 'EMOJI_NOT_IN_RECENTS',
    );
    expect(await status(react({ kind: 'sticker', sticker }))).toBe(
      can.stickers ? 'delivered' : 'STICKER_NOT_FEASIBLE',
    );
    expect(await status(withFooter('', { chat_id: chatId, sticker }))).toBe(
      can.stickers ? 'delivered' : 'COMPOSE_FAILED',
    );
    const sent = (await messages()).filter((message) => message.from === 'me');
    expect(
      sent.map(({ text, effect, voice, sticker: shown }) => ({ text, effect, voice, sticker: shown })),
    ).toMatchObject([
      { text: 'A text' },
      { text: 'A file' },
      { text: '' },
      { voice: { durationMs: 900 } },
      { text: 'Wow', effect: 'fireworks' },
      ...(can.stickers ? [{ sticker: { mime: 'image/png' } }] : []),
      { text: 'To all' },
    ]);
  });

  it(`M5 works from people to the CRM on macOS ${macos}`, async () => {
    const { service, play } = await runAgent(cleanup, { env: { FOOTBRIDGE_MACOS: macos } });
    const { guid: targetGuid } = await service.statusOf(service.send({ message: 'Nine?' }).requestId);
    const { chatId } = await play('/groups', { recipients: [ANNA, BERT] });
    const received = async (verb: string, body: object, handle = ANNA): Promise<unknown> => {
      const { guid } = await play(person(handle, verb), body);
      return await service.messageOf(guid);
    };
    const react = (reaction: object): object => ({ targetGuid, action: 'add', ...reaction });
    expect(await received('say', { text: 'A text' })).toMatchObject({ text: 'A text' });
    expect(await received('say', { text: 'To all', chatId }, BERT)).toMatchObject({
      chat: { isGroup: true },
    });
    expect(await received('say', { attachments: [file] })).toMatchObject({
      attachments: [service.assets[0]?.url],
    });
    const voice = { ...file, mime: 'audio/x-caf', durationMs: 900 };
    expect(await received('say', { voice })).toMatchObject({ voice: { duration_ms: 900 } });
    expect(await received('say', { text: 'Wow', effect: 'echo' })).toMatchObject({
      animation: { effect: 'echo' },
    });
    expect(await received('react', react({ kind: 'classic', type: 'laugh' }))).toMatchObject({
      reaction: { kind: 'classic', type: 'laugh', target_message_guid: targetGuid },
    });
    const emoji = await received('react', react({ kind: 'emoji', emoji: '🫡' }));
    const stickerReaction = await received('react', react({ kind: 'sticker', sticker: file }));
    if (can.emojiIn) {
      expect(emoji).toMatchObject({ reaction: { kind: 'emoji', emoji: '🫡' } });
      expect(stickerReaction).toMatchObject({
        reaction: { kind: 'sticker', sticker: { name: 'photo.png' } },
      });
    } else {
      expect(emoji).not.toHaveProperty('reaction');
      expect(stickerReaction).not.toHaveProperty('reaction');
    }
    expect(await received('sticker', file)).toMatchObject({
      sticker: { name: 'photo.png', mime_type: 'image/png' },
    });
  });
});

describe('hostile URLs', () => {
  it('T13 are not fetched from this machine or its network, and their messages are not sent', async () => {
    const canary = await serveFiles(cleanup, always(PNG, 'image/png'));
    const { service, messages } = await runAgent(cleanup, { env: { FOOTBRIDGE_ALLOW_LOOPBACK: 'false' } });
    const urls = [
      `http://127.0.0.1:${canary.port}/a`,
      `https://127.0.0.1:${canary.port}/a`,
      `https://localhost:${canary.port}/a`,
      `https://[::ffff:127.0.0.1]:${canary.port}/a`,
      `https://2130706433:${canary.port}/a`,
      'https://169.254.169.254/latest/meta-data',
      'http://10.0.0.1/',
    ];
    for (const url of urls) {
      const status = await service.statusOf(service.send({ message: 'Look', attachments: [url] }).requestId);
      expect(status, url).toMatchObject({ status: 'failed', error: { code: 'INVALID_FRAME' } });
      const block = { chat_id: 1, sticker: { url } };
      const stickerStatus = await service.statusOf(
        service.send({ message: withFooter('', block) }).requestId,
      );
      expect(stickerStatus.status).toBe('failed');
    }
    expect(canary.visits).toEqual([]);
    expect(await messages()).toEqual([]);
  });
});
