import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { CODES, webhookEntry } from '@footbridge/protocol/codes';
import type { MessageStatusFrame, SendFrame } from '@footbridge/protocol/frames';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { serveFiles } from '@footbridge/testkit/file-server';
import { SENDING_ENGINES } from './engine-agent.ts';
import type { Engine, EngineAgent } from './engine-agent.ts';
import { useEngine } from './engine.fixture.ts';
import { ANNA, BERT, person, PNG, withFooter } from './running-agent.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const sticker = { bytes: PNG.toString('base64') };

interface Scenario {
  readonly running: EngineAgent;
  readonly chatId: number;
  readonly guid: string;
  readonly send: (frame: Partial<SendFrame>) => Promise<MessageStatusFrame>;
  readonly react: (reaction: object) => Promise<MessageStatusFrame>;
  /** Like `react`, where Messages does what it is asked and nothing appears. */
  readonly reactInVain: (reaction: object) => Promise<MessageStatusFrame>;
}

interface Condition {
  readonly when: string;
  readonly env?: Record<string, string>;
  readonly make: (scenario: Scenario) => Promise<MessageStatusFrame>;
  /** The code or status in engines that the condition concerns in another way. */
  readonly instead?: Partial<Record<Engine, string>>;
}

/** For every code of the contract, the condition that causes it. */
const CONDITIONS: Readonly<Record<string, Condition>> = {
  IMESSAGE_GROUP_INVALID_RECIPIENTS: {
    when: 'a member of the group is not on iMessage',
    make: async ({ running, send }) => {
      await running.play(person(BERT), { imessage: false });
      return await send({ message: withFooter('Hi', { is_group: true, recipients: [ANNA, BERT] }) });
    },
  },
  IMESSAGE_ERROR: {
    when: 'an effect needs iMessage and the number is not on it',
    make: async ({ running, send }) => {
      await running.play(person('+15550100009'), { imessage: false });
      const animation = { effect: 'slam', kind: 'bubble' };
      return await send({ phone: '+15550100009', message: withFooter('Hi', { animation }) });
    },
  },
  INVALID_FRAME: {
    when: 'the footer is malformed',
    make: async ({ send }) => await send({ message: 'Hi\n-- svc-metadata:v1 --\n{\n-- end svc-metadata --' }),
  },
  UI_AUTOMATION_DISABLED: {
    when: 'the owner disabled UI automation',
    env: { FOOTBRIDGE_UI_AUTOMATION: 'false' },
    make: async ({ react }) => await react({ kind: 'classic', action: 'add', type: 'love' }),
    instead: { bluebubbles: 'delivered' },
  },
  AX_DENIED: {
    when: 'macOS does not grant the Accessibility permission',
    make: async ({ running, react }) => {
      await running.fail('screen_denied');
      return await react({ kind: 'classic', action: 'add', type: 'love' });
    },
    instead: { bluebubbles: 'delivered' },
  },
  RATE_LIMITED: {
    when: 'the queue is full',
    make: async ({ running, send }) => {
      await running.hold();
      for (let index = 0; index < 3; index += 1) running.service.send({});
      const status = await send({});
      await running.release();
      return status;
    },
  },
  INTERNAL_ERROR: {
    when: 'an unexpected error occurs on the Mac',
    make: async ({ running, send, chatId }) => {
      // There is no place for the image.
      writeFileSync(join(running.config.dataDir, 'scratch'), '');
      return await send({ message: withFooter('', { chat_id: chatId, sticker }) });
    },
  },
  TIMEOUT: {
    when: 'a step takes too long',
    make: async ({ running }) => {
      await running.fail('send_lost');
      return await running.statusOfLost(running.service.send({}).requestId);
    },
  },
  TARGET_NOT_FOUND: {
    when: 'the target does not exist on this Mac',
    make: async ({ react }) =>
      await react({ kind: 'classic', action: 'add', type: 'love', target_message_guid: 'NOWHERE' }),
  },
  INVALID_KIND_FIELD_COMBO: {
    when: 'the field of the kind is missing',
    make: async ({ react }) => await react({ kind: 'emoji', action: 'add' }),
  },
  PICKER_FAILED: {
    when: 'the picker does not open',
    make: async ({ running, react }) => {
      await running.fail('press_refused');
      return await react({ kind: 'classic', action: 'add', type: 'love' });
    },
    // It has no picker: its helper does not take the command.
    instead: { bluebubbles: 'IMESSAGE_ERROR' },
  },
  EMOJI_NOT_IN_RECENTS: {
    when: 'the emoji does not appear in the store',
    make: async ({ reactInVain }) => await reactInVain({ kind: 'emoji', action: 'add', emoji: '🔥' }),
  },
  STICKER_NOT_FEASIBLE: {
    when: 'the sticker does not appear in the store',
    make: async ({ reactInVain }) => await reactInVain({ kind: 'sticker', action: 'add', sticker }),
  },
  STICKER_DOWNLOAD_FAILED: {
    when: 'the url cannot be downloaded',
    make: async ({ react }) => {
      // An http server at an https URL: the TLS handshake fails.
      const server = await serveFiles(cleanup, (_request, response) => response.end());
      const url = `${server.url.replace('http:', 'https:')}/s.png`;
      return await react({ kind: 'sticker', action: 'add', sticker: { url } });
    },
  },
  STICKER_ENCODE_FAILED: {
    when: 'the bytes are not an image',
    make: async ({ react }) =>
      await react({
        kind: 'sticker',
        action: 'add',
        sticker: { bytes: Buffer.from('no image').toString('base64') },
      }),
  },
  COMPOSE_FAILED: {
    when: 'the sticker cannot be composed',
    make: async ({ running, send, chatId }) => {
      const faults = [{ job: 'sticker', code: 'COMPOSE_FAILED', times: 1 }];
      if (running.can('stickers')) await running.play('/world', { faults });
      return await send({ message: withFooter('', { chat_id: chatId, sticker }) });
    },
  },
  NOT_IMPLEMENTED: {
    when: 'the kind is unknown',
    make: async ({ react }) => await react({ kind: 'hologram', action: 'add' }),
  },
};

/**
 * Whether the service reports a code: it has no Mac, or rejects the webhook. tests/crashes/agent-poison.test.ts causes SET_ASIDE on the
 * Mac, and INTERNAL_ERROR has a condition too.
 */
const isOfService = (code: string): boolean =>
  code === 'CLIENT_NOT_CONNECTED' || (code !== 'INTERNAL_ERROR' && webhookEntry(code) !== undefined);

describe('the codes of the contract', () => {
  it('M3 each have a condition in this file', () => {
    const codes = CODES.filter((entry) => entry.channel === 'status').map((entry) => entry.code);
    const missing = codes.filter((code) => !isOfService(code) && CONDITIONS[code] === undefined);
    expect(missing).toEqual([]);
  });
});

describe.each(SENDING_ENGINES)('the codes of the contract on %s Messages', (engine) => {
  const { run } = useEngine(engine, cleanup);

  it.each(Object.entries(CONDITIONS))('M3 %s is reported', async (code, { when, env, make, instead }) => {
    const running = await run({ env: { FOOTBRIDGE_QUEUE_LIMIT: '3', ...env } });
    const { guid, chatId } = await running.play(person(ANNA, 'say'), { text: 'Hello' });
    const send = async (frame: Partial<SendFrame>): Promise<MessageStatusFrame> =>
      await running.service.statusOf(running.service.send(frame).requestId);
    const messageOf = (reaction: object): string =>
      withFooter('', { chat_id: chatId, reaction: { target_message_guid: guid, ...reaction } });
    const status = await make({
      running,
      chatId,
      guid,
      send,
      react: (reaction) => send({ message: messageOf(reaction) }),
      reactInVain: async (reaction) => {
        await running.fail('press_lost');
        return running.statusOfLost(running.service.send({ message: messageOf(reaction) }).requestId);
      },
    });
    const expected = instead?.[engine] ?? code;
    expect(status.error?.code ?? status.status, when).toBe(expected);
    if (expected !== 'delivered') expect(status.error?.message.length).toBeGreaterThan(3);
  });

  // The codes of an effect and of a sticker without the permission of macOS, and without that of the owner.
  const needs = {
    // Stickers are not possible with it either.
    macos: {
      animation: ['AX_DENIED', 'UI_AUTOMATION_DISABLED'],
      sticker: ['COMPOSE_FAILED', 'UI_AUTOMATION_DISABLED'],
    },
    bluebubbles: { animation: [undefined, undefined], sticker: ['COMPOSE_FAILED', 'COMPOSE_FAILED'] },
  }[engine];

  it.each(['animation', 'sticker'] as const)('M3 a %s needs the permissions of the screen', async (kind) => {
    const codeWithout = async (permission: 'macos' | 'owner'): Promise<string | undefined> => {
      const env = { FOOTBRIDGE_UI_AUTOMATION: String(permission !== 'owner') };
      const running = await run({ env });
      if (permission === 'macos') await running.fail('screen_denied');
      const { chatId } = await running.play(person(ANNA, 'say'), { text: 'Hello' });
      const footer =
        kind === 'animation'
          ? { animation: { effect: 'slam', kind: 'bubble' } }
          : { chat_id: chatId, sticker };
      const { requestId } = running.service.send({ message: withFooter('Hi', footer) });
      const status = await running.service.statusOf(requestId);
      const plain = await running.service.statusOf(running.service.send({}).requestId);
      expect(plain, 'a plain text needs neither').toMatchObject({ status: 'delivered' });
      await running.heal();
      await running.agent.stop();
      return status.error?.code;
    };
    expect([await codeWithout('macos'), await codeWithout('owner')]).toEqual(needs[kind]);
  });
});

describe('a fault of the simulator', () => {
  const { run } = useEngine('simulated', cleanup);

  it.each(['text', 'attachment', 'animation', 'voice', 'reaction', 'sticker'] as const)(
    'M3 makes a %s fail with its code',
    async (job) => {
      const running = await run();
      const { guid, chatId } = await running.play(person(ANNA, 'say'), { text: 'Hello' });
      const server = await serveFiles(cleanup, (_request, response) => {
        response.writeHead(200, { 'content-type': 'audio/mp4' }).end('sound');
      });
      const attachments = [`${server.url}/a.m4a`];
      const frames: Record<typeof job, Partial<SendFrame>> = {
        text: {},
        attachment: { message: null, attachments },
        animation: { message: withFooter('Hi', { animation: { effect: 'slam', kind: 'bubble' } }) },
        voice: { message: withFooter('', { voice: {} }), attachments },
        reaction: {
          message: withFooter('', {
            chat_id: chatId,
            reaction: { kind: 'classic', action: 'add', type: 'love', target_message_guid: guid },
          }),
        },
        sticker: { message: withFooter('', { chat_id: chatId, sticker }) },
      };
      await running.play('/world', { faults: [{ job, code: 'TIMEOUT', times: 1 }] });
      const failed = await running.service.statusOf(running.service.send(frames[job]).requestId);
      expect(failed.error?.code).toBe('TIMEOUT');
      const done = await running.service.statusOf(running.service.send(frames[job]).requestId);
      expect(done.status).toBe('delivered');
    },
  );
});
