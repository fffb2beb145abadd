import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

import { writeFooter } from '@footbridge/protocol/footer';
import { CLASSIC_TYPES } from '@footbridge/protocol/metadata';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { useEngine } from './engine.fixture.ts';
import { ANNA, BERT, person, PNG } from './running-agent.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const picture = { name: 'photo.png', mime: 'image/png', base64: PNG.toString('base64') };

/** After this time a changed store is read at the latest. */
const POLL_MS = 2_000;

// All engines read with the same reader.
describe('on a Mac', () => {
  const { run } = useEngine('macos', cleanup);

  describe('an inbound message', () => {
    it('I8 arrives with all its attachments', async () => {
      const { service, play } = await run();
      const { guid } = await play(person(ANNA, 'say'), {
        attachments: Array.from({ length: 25 }, () => picture),
      });
      expect((await service.messageOf(guid)).attachments).toEqual(service.assets.map((asset) => asset.url));
      expect(service.assets).toHaveLength(25);
    });

    it('I6 arrives once with all its fields', async () => {
      const { service, play } = await run();
      const before = Date.now();
      const { guid, chatId } = await play(person(ANNA, 'say'), { text: 'Hello there' });
      const frame = await service.messageOf(guid);
      expect(frame).toEqual({
        type: 'message_received',
        seq: expect.any(Number),
        guid,
        sender: ANNA,
        service: 'iMessage',
        text: 'Hello there',
        sentAt: expect.any(String),
        chat: { id: chatId, isGroup: false, recipients: [ANNA] },
        attachments: [],
      });
      expect(Date.parse(frame.sentAt)).toBeGreaterThanOrEqual(before);
      expect(Date.parse(frame.sentAt)).toBeLessThanOrEqual(Date.now());
      const next = await play(person(ANNA, 'say'), { text: 'Next' });
      await service.messageOf(next.guid);
      expect(service.received.map(({ text }) => text)).toEqual(['Hello there', 'Next']);
    });

    it.each(['SMS', 'RCS'] as const)('I1 arrives by %s', async (name) => {
      const { service, play } = await run();
      const { guid } = await play(person(ANNA, 'say'), { text: 'Hi', service: name });
      expect((await service.messageOf(guid)).service).toBe(name);
    });

    it('I3 of a group names its sender and all recipients', async () => {
      const { service, play } = await run();
      const { chatId } = await play('/groups', { recipients: [ANNA, BERT] });
      const { guid } = await play(person(BERT, 'say'), { text: 'Hi all', chatId });
      expect(await service.messageOf(guid)).toMatchObject({
        sender: BERT,
        chat: { id: chatId, isGroup: true, recipients: [ANNA, BERT] },
      });
    });

    it('I3 names the message to which it replies', async () => {
      const { service, play } = await run();
      const first = await play(person(ANNA, 'say'), { text: 'One' });
      const { guid } = await play(person(ANNA, 'say'), { text: 'Two', replyTo: first.guid });
      expect((await service.messageOf(guid)).replyTo).toEqual({ guid: first.guid });
    });

    it('I3 with an effect names the effect and its kind', async () => {
      const { service, play } = await run();
      const { guid } = await play(person(ANNA, 'say'), { text: 'Boom', effect: 'slam' });
      const screen = await play(person(ANNA, 'say'), { text: 'Party', effect: 'confetti' });
      expect((await service.messageOf(guid)).animation).toEqual({ effect: 'slam', kind: 'bubble' });
      expect((await service.messageOf(screen.guid)).animation).toEqual({
        effect: 'confetti',
        kind: 'screen',
      });
    });

    it('is not an echo of an outgoing message', async () => {
      const { service, play } = await run();
      await service.statusOf(service.send({ message: 'From the CRM' }).requestId);
      const { guid } = await play(person(ANNA, 'say'), { text: 'From Anna' });
      await service.messageOf(guid);
      expect(service.received.map((frame) => frame.text)).toEqual(['From Anna']);
    });

    it('is not repeated when it is edited or unsent', async () => {
      const { service, play } = await run();
      const first = await play(person(ANNA, 'say'), { text: 'Helo' });
      const second = await play(person(ANNA, 'say'), { text: 'Oops' });
      await service.messageOf(second.guid);
      await play(person(ANNA, 'edit'), { guid: first.guid, text: 'Hello' });
      await play(person(ANNA, 'unsend'), { guid: second.guid });
      const third = await play(person(ANNA, 'say'), { text: 'Bye' });
      await service.messageOf(third.guid);
      expect(service.received.map((frame) => frame.text)).toEqual(['Helo', 'Oops', 'Bye']);
    });

    it('is not sent for a person who leaves a group', async () => {
      const { service, play } = await run();
      const { chatId } = await play('/groups', { recipients: [ANNA, BERT] });
      await play(person(BERT, 'leave'), { chatId });
      const { guid } = await play(person(ANNA, 'say'), { text: 'He left', chatId });
      expect((await service.messageOf(guid)).chat.recipients).toEqual([ANNA]);
      expect(service.received).toHaveLength(1);
    });

    it('I5 keeps its place within its chat', async () => {
      const { service, play } = await run();
      for (let index = 0; index < 40; index += 1) {
        await play(person(index % 2 === 0 ? ANNA : BERT, 'say'), { text: String(index) });
      }
      await until(() => service.received.length === 40);
      for (const who of [ANNA, BERT]) {
        const numbers = service.received
          .filter((frame) => frame.sender === who)
          .map((frame) => Number(frame.text));
        expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
      }
    });

    it('I6 is not repeated when a sync changes its row id', async () => {
      const { service, play, storePath } = await run();
      const { guid } = await play(person(ANNA, 'say'), { text: 'One' });
      await service.messageOf(guid);
      const store = new DatabaseSync(storePath);
      store.exec('PRAGMA foreign_keys = OFF');
      store.exec(
        'UPDATE message SET ROWID = ROWID + 100; UPDATE chat_message_join SET message_id = message_id + 100',
      );
      store.exec("UPDATE sqlite_sequence SET seq = seq + 100 WHERE name = 'message'");
      store.close();
      const next = await play(person(ANNA, 'say'), { text: 'Two' });
      await service.messageOf(next.guid);
      expect(service.received.map((frame) => frame.text)).toEqual(['One', 'Two']);
    });

    it('I6 is skipped when a sync adds it as history', async () => {
      const { service, play, storePath } = await run();
      const { guid } = await play(person(ANNA, 'say'), { text: 'One' });
      await service.messageOf(guid);
      const store = new DatabaseSync(storePath);
      const monthAgo = BigInt(Date.now() - 30 * 24 * 3600_000 - Date.UTC(2001, 0, 1)) * 1_000_000n;
      store
        .prepare(
          "INSERT INTO message (guid, text, handle_id, service, date) VALUES ('OLD', 'Old', 1, 'iMessage', ?)",
        )
        .run(monthAgo);
      store.exec(
        "INSERT INTO chat_message_join (chat_id, message_id) SELECT 1, ROWID FROM message WHERE guid = 'OLD'",
      );
      store.close();
      const next = await play(person(ANNA, 'say'), { text: 'Two' });
      await service.messageOf(next.guid);
      expect(service.received.map((frame) => frame.text)).toEqual(['One', 'Two']);
    });

    it('I5 is not missed when its row is joined to a chat later, and delays only the chats of its sender', async () => {
      const clock = new FakeClock(Date.now());
      const { service, play, storePath } = await run({ deps: { clock } });
      const one = await play(person(ANNA, 'say'), { text: 'One' });
      await clock.advance(POLL_MS);
      await service.messageOf(one.guid);
      const store = new DatabaseSync(storePath);
      const now = BigInt(clock.now() - Date.UTC(2001, 0, 1)) * 1_000_000n;
      store
        .prepare(
          "INSERT INTO message (guid, text, handle_id, service, date) VALUES ('SLOW', 'Slow', 1, 'iMessage', ?)",
        )
        .run(now);
      const next = await play(person(ANNA, 'say'), { text: 'Three' });
      const other = await play(person(BERT, 'say'), { text: 'Other' });
      await clock.advance(POLL_MS);
      await service.messageOf(other.guid);
      await service.settled();
      expect(service.received.map((frame) => frame.text)).toEqual(['One', 'Other']);
      store.exec(
        "INSERT INTO chat_message_join (chat_id, message_id) SELECT 1, ROWID FROM message WHERE guid = 'SLOW'",
      );
      store.close();
      await clock.advance(POLL_MS);
      await service.messageOf(next.guid);
      expect(service.received.map((frame) => frame.text)).toEqual(['One', 'Other', 'Slow', 'Three']);
    });

    it('I6 arrives after a restart', async () => {
      const first = await run();
      const { service, config } = first;
      const one = await first.play(person(ANNA, 'say'), { text: 'One' });
      await service.messageOf(one.guid);
      await first.agent.stop();
      const second = await run({ service, dataDir: config.dataDir });
      const two = await second.play(person(ANNA, 'say'), { text: 'Two' });
      await service.messageOf(two.guid);
      // The first message comes again when the agent stopped before it saw the acknowledgement.
      expect([...new Set(service.received.map((frame) => frame.text))]).toEqual(['One', 'Two']);
    });
  });

  describe('an inbound attachment', () => {
    it('I8 is uploaded, and the frame has its URL', async () => {
      const { service, play } = await run();
      const { guid } = await play(person(ANNA, 'say'), {
        text: 'Look',
        attachments: [picture, { ...picture, name: 'Ünïcode näme.png' }],
      });
      const frame = await service.messageOf(guid);
      expect(frame.text).toBe('Look');
      expect(frame.attachments).toEqual(service.assets.map((asset) => asset.url));
      expect(service.assets).toMatchObject([
        { name: 'photo.png', mime: 'image/png' },
        { name: 'Ünïcode näme.png', mime: 'image/png' },
      ]);
      expect(service.assets[0]?.bytes.equals(PNG)).toBe(true);
    });

    it.each(['image/png\u2603', 'image/png\n', 'picture'])(
      'I8 with the invalid MIME type %j is uploaded without it',
      async (mime) => {
        const { service, play } = await run();
        const { guid } = await play(person(ANNA, 'say'), { attachments: [{ ...picture, mime }] });
        expect((await service.messageOf(guid)).attachments).toHaveLength(1);
        expect(service.assets).toMatchObject([{ name: 'photo.png', mime: 'application/octet-stream' }]);
      },
    );

    it('I8 of a voice message comes with its duration and MIME type', async () => {
      const { service, play } = await run();
      const base64 = readFileSync(
        new URL('../../packages/agent/fixtures/voice/voice_opus.caf', import.meta.url),
        'base64',
      );
      const voice = { name: 'Audio Message.caf', mime: 'audio/x-caf', base64, durationMs: 2_000 };
      const { guid } = await play(person(ANNA, 'say'), { voice });
      const frame = await service.messageOf(guid);
      expect(frame).toMatchObject({
        text: '',
        voice: { mime_type: 'audio/x-caf' },
        attachments: [service.assets[0]?.url],
      });
      // A Mac reads it from the file.
      expect(Math.abs((frame.voice?.duration_ms ?? 0) - voice.durationMs)).toBeLessThan(100);
    });

    it('I8 is marked as a sticker or a picture', async () => {
      const { service, play } = await run();
      const { guid } = await play(person(ANNA, 'sticker'), { ...picture, name: 'poodle.png' });
      expect(await service.messageOf(guid)).toMatchObject({
        sticker: { guid: expect.any(String), mime_type: 'image/png', name: 'poodle.png' },
        attachments: [service.assets[0]?.url],
      });
    });

    it('delays only its own chat when it is late', async () => {
      const clock = new FakeClock(Date.now());
      const { service, play, filesArrive } = await run({ deps: { clock } });
      const late = await play(person(ANNA, 'say'), {
        text: 'Soon',
        attachments: [{ ...picture, delayMs: 2_500 }],
      });
      const after = await play(person(ANNA, 'say'), { text: 'After' });
      const other = await play(person(BERT, 'say'), { text: 'Other' });
      await clock.advance(POLL_MS);
      await service.messageOf(other.guid);
      await service.settled();
      expect(service.received.map((frame) => frame.text)).toEqual(['Other']);
      await filesArrive();
      await clock.advance(POLL_MS);
      await service.messageOf(after.guid);
      expect(service.received.map((frame) => frame.text)).toEqual(['Other', 'Soon', 'After']);
      expect((await service.messageOf(late.guid)).attachments).toHaveLength(1);
    });

    it('is omitted when it does not arrive before the timeout', async () => {
      const clock = new FakeClock(Date.now());
      const { service, play } = await run({ deps: { clock } });
      const { guid } = await play(person(ANNA, 'say'), {
        text: 'Soon',
        attachments: [{ ...picture, delayMs: 3_600_000 }],
      });
      await clock.advance(119_000);
      // By this clock no ping came for two minutes, so the agent may have reconnected.
      await until(() => service.connected > 0);
      await service.settled();
      expect(service.received).toEqual([]);
      await clock.advance(2_000);
      expect(await service.messageOf(guid)).toMatchObject({ text: 'Soon', attachments: [] });
    });

    it.each([413, 415])('that the service rejects with %s is left out', async (status) => {
      const { service, play } = await run();
      service.assetRejections = [status];
      const { guid } = await play(person(ANNA, 'say'), { text: 'Two', attachments: [picture, picture] });
      expect(await service.messageOf(guid)).toMatchObject({
        text: 'Two',
        attachments: [service.assets[0]?.url],
      });
      expect(service.assets).toHaveLength(1);
    });

    it.each([500, 503, 429, 401])('is uploaded again after a %s', async (status) => {
      const { service, play } = await run({ env: { FOOTBRIDGE_BACKOFF_CAP_SEC: '0.05' } });
      service.assetRejections = [status, status, status];
      const { guid } = await play(person(ANNA, 'say'), { text: 'Wait', attachments: [picture] });
      expect((await service.messageOf(guid)).attachments).toHaveLength(1);
    });

    it('is not sent when its message was unsent meanwhile, and neither is the message', async () => {
      const clock = new FakeClock(Date.now());
      const { service, play, filesArrive } = await run({ deps: { clock } });
      const { guid } = await play(person(ANNA, 'say'), { attachments: [{ ...picture, delayMs: 2_000 }] });
      await play(person(ANNA, 'unsend'), { guid });
      const { guid: next } = await play(person(ANNA, 'say'), { text: 'Never mind' });
      await clock.advance(POLL_MS);
      await filesArrive();
      await clock.advance(POLL_MS);
      await service.messageOf(next);
      expect(service.received).toHaveLength(1);
    });
  });

  describe('an inbound reaction', () => {
    it.each(CLASSIC_TYPES)('F5 %s arrives with its target when it is added and removed', async (type) => {
      const { service, play } = await run();
      const { guid: target } = await service.statusOf(service.send({ message: 'Nine?' }).requestId);
      for (const action of ['add', 'remove'] as const) {
        const { guid } = await play(person(ANNA, 'react'), {
          targetGuid: target,
          kind: 'classic',
          action,
          type,
        });
        const frame = await service.messageOf(guid);
        expect(frame.reaction).toEqual({
          kind: 'classic',
          action,
          type,
          target_message_guid: target,
          target_message_guid_raw: `p:0/${target}`,
        });
        expect(frame.sender).toBe(ANNA);
        expect(frame.text).toContain('Nine?');
      }
    });

    it('M5 with an emoji arrives as a reaction', async () => {
      const { service, play } = await run();
      const { guid: targetGuid } = await service.statusOf(service.send({}).requestId);
      const { guid } = await play(person(ANNA, 'react'), {
        targetGuid,
        kind: 'emoji',
        action: 'add',
        emoji: '🔥',
      });
      expect((await service.messageOf(guid)).reaction).toMatchObject({
        kind: 'emoji',
        action: 'add',
        emoji: '🔥',
      });
    });

    it('F6 with a sticker arrives with the guid and the image of the sticker', async () => {
      const { service, play } = await run();
      const { guid: targetGuid } = await service.statusOf(service.send({}).requestId);
      const { guid } = await play(person(ANNA, 'react'), {
        targetGuid,
        kind: 'sticker',
        action: 'add',
        sticker: picture,
      });
      const frame = await service.messageOf(guid);
      expect(frame.reaction).toMatchObject({
        kind: 'sticker',
        target_message_guid: targetGuid,
        sticker: { guid: expect.any(String), mime_type: 'image/png', name: 'photo.png' },
      });
      expect(frame.attachments).toEqual([service.assets[0]?.url]);
      expect(frame.sticker).toBeUndefined();
    });

    it('F5 has a text in the language of its sender and a block that does not depend on it', async () => {
      const { service, play } = await run();
      const { guid: targetGuid } = await service.statusOf(service.send({ message: 'Nine?' }).requestId);
      const texts = new Map<string, string>();
      for (const locale of ['en', 'nl']) {
        const body = { targetGuid, kind: 'classic', action: 'add', type: 'love', locale };
        const { guid } = await play(person(ANNA, 'react'), body);
        const frame = await service.messageOf(guid);
        expect(frame.reaction).toMatchObject({ kind: 'classic', type: 'love' });
        texts.set(locale, frame.text);
      }
      expect(texts.get('en')).toBe('Loved “Nine?”');
      expect(texts.get('nl')).toBe('Gaf een hartje aan ‘Nine?’');
    });

    it('F5 by SMS arrives as text', async () => {
      const { service, play } = await run({ env: { FOOTBRIDGE_CHANNEL: 'path' } });
      const { guid: targetGuid } = await service.statusOf(service.send({ channel: 'sms' }).requestId);
      const { guid } = await play(person(ANNA, 'react'), {
        targetGuid,
        kind: 'classic',
        action: 'add',
        type: 'like',
      });
      expect(await service.messageOf(guid)).toMatchObject({ service: 'SMS', text: 'Liked “Hello”' });
      expect((await service.messageOf(guid)).reaction).toBeUndefined();
    });

    it('F9 replaces the earlier reaction of the same person', async () => {
      const { service, play, messages } = await run();
      const { chatId } = await play('/groups', { recipients: [ANNA, BERT] });
      const text = writeFooter('Nine?', { chat_id: chatId });
      const { guid: targetGuid } = await service.statusOf(service.send({ message: text }).requestId);
      for (const [who, type] of [
        [ANNA, 'love'],
        [BERT, 'like'],
        [ANNA, 'laugh'],
      ] as const) {
        await play(person(who, 'react'), { targetGuid, kind: 'classic', action: 'add', type });
      }
      const reactions = (await messages())[0]?.reactions;
      expect(reactions).toHaveLength(2);
      expect(reactions).toContainEqual({ from: BERT, kind: 'classic', type: 'like' });
      expect(reactions).toContainEqual({ from: ANNA, kind: 'classic', type: 'laugh' });
      await until(() => service.received.length === 3);
    });
  });
});

// On a Mac, macOS writes them as text.
describe('an inbound reaction on an older macOS', () => {
  const { run } = useEngine('simulated', cleanup);

  it('M5 with an emoji arrives as a reaction on macOS 15.6', async () => {
    const { service, play } = await run({ macos: '15.6' });
    const { guid: targetGuid } = await service.statusOf(service.send({}).requestId);
    const reaction = { targetGuid, kind: 'emoji', action: 'add', emoji: '🔥' };
    const { guid } = await play(person(ANNA, 'react'), reaction);
    expect((await service.messageOf(guid)).reaction).toMatchObject({ kind: 'emoji', emoji: '🔥' });
  });

  it.each(['12.7', '14.8'])('M5 with an emoji or a sticker arrives as text on macOS %s', async (macos) => {
    const { service, play } = await run({ macos });
    const { guid: targetGuid } = await service.statusOf(service.send({ message: 'Nine?' }).requestId);
    const emoji = await play(person(ANNA, 'react'), {
      targetGuid,
      kind: 'emoji',
      action: 'add',
      emoji: '🔥',
    });
    const frame = await service.messageOf(emoji.guid);
    expect(frame.text).toBe('Reacted 🔥 to “Nine?”');
    expect(frame.reaction).toBeUndefined();
    const sticker = await play(person(ANNA, 'react'), {
      targetGuid,
      kind: 'sticker',
      action: 'add',
      sticker: picture,
    });
    expect((await service.messageOf(sticker.guid)).reaction).toBeUndefined();
  });
});
