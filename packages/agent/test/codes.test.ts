import { CODES } from '@footbridge/protocol/codes';
import type { MessageStatusFrame, SendFrame } from '@footbridge/protocol/frames';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { serveFiles } from './file-server.ts';
import { ANNA, BERT, person, PNG, runAgent, withFooter } from './running-agent.ts';
import type { RunningAgent } from './running-agent.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const sticker = { bytes: PNG.toString('base64') };

interface Scenario {
  readonly running: RunningAgent;
  readonly chatId: number;
  readonly guid: string;
  readonly send: (frame: Partial<SendFrame>) => Promise<MessageStatusFrame>;
  readonly react: (reaction: object) => Promise<MessageStatusFrame>;
}

/** For every code of the contract, the condition that causes it. */
const CONDITIONS: Readonly<
  Record<string, { when: string; make: (scenario: Scenario) => Promise<MessageStatusFrame> }>
> = {
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
    make: async ({ running, react }) => {
      await running.play('/world', { permissions: { automation: false } });
      return await react({ kind: 'classic', action: 'add', type: 'love' });
    },
  },
  AX_DENIED: {
    when: 'macOS does not grant the Accessibility permission',
    make: async ({ running, react }) => {
      await running.play('/world', { permissions: { accessibility: false } });
      return await react({ kind: 'classic', action: 'add', type: 'love' });
    },
  },
  RATE_LIMITED: {
    when: 'the queue is full',
    make: async ({ running, send }) => {
      await running.play('/world', { delayMs: 3_600_000 });
      for (let index = 0; index < 3; index += 1) running.service.send({});
      const status = await send({});
      await running.play('/world', { delayMs: 0 });
      return status;
    },
  },
  INTERNAL_ERROR: {
    when: 'an unexpected error occurs on the Mac',
    make: async ({ running, send }) => {
      await running.play('/world', { faults: [{ job: 'text', code: 'INTERNAL_ERROR', times: 1 }] });
      return await send({});
    },
  },
  TIMEOUT: {
    when: 'a step takes too long',
    make: async ({ running, send }) => {
      await running.play('/world', { faults: [{ job: 'text', code: 'TIMEOUT', times: 1 }] });
      return await send({});
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
      await running.play('/world', { faults: [{ job: 'reaction', code: 'PICKER_FAILED', times: 1 }] });
      return await react({ kind: 'classic', action: 'add', type: 'love' });
    },
  },
  EMOJI_NOT_IN_RECENTS: {
    when: 'the emoji does not appear in the store',
    make: async ({ running, react }) => {
      await running.play('/world', { faults: [{ job: 'reaction', code: 'EMOJI_NOT_IN_RECENTS', times: 1 }] });
      return await react({ kind: 'emoji', action: 'add', emoji: '🔥' });
    },
  },
  STICKER_NOT_FEASIBLE: {
    when: 'the sticker does not appear in the store',
    make: async ({ running, react }) => {
      await running.play('/world', { faults: [{ job: 'reaction', code: 'STICKER_NOT_FEASIBLE', times: 1 }] });
      return await react({ kind: 'sticker', action: 'add', sticker });
    },
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
      await running.play('/world', { faults: [{ job: 'sticker', code: 'COMPOSE_FAILED', times: 1 }] });
      return await send({ message: withFooter('', { chat_id: chatId, sticker }) });
    },
  },
  NOT_IMPLEMENTED: {
    when: 'the kind is unknown',
    make: async ({ react }) => await react({ kind: 'hologram', action: 'add' }),
  },
};

/** Codes that only the service reports. */
const SERVICE_CODES = new Set([
  'CLIENT_NOT_CONNECTED',
  'MISSING_REQUIRED_FIELDS',
  'MESSAGE_BODY_TOO_LONG',
  'RECIPIENT_PHONE_INVALID',
]);

describe('the codes of the contract', () => {
  it('M3 each have a condition in this file', () => {
    const codes = CODES.filter((entry) => entry.channel === 'status').map((entry) => entry.code);
    const missing = codes.filter((code) => !SERVICE_CODES.has(code) && CONDITIONS[code] === undefined);
    expect(missing).toEqual([]);
  });

  it.each(Object.entries(CONDITIONS))('M3 %s is reported', async (code, { when, make }) => {
    const running = await runAgent(cleanup, { env: { FOOTBRIDGE_QUEUE_LIMIT: '3' } });
    const { guid, chatId } = await running.play(person(ANNA, 'say'), { text: 'Hello' });
    const send = async (frame: Partial<SendFrame>): Promise<MessageStatusFrame> =>
      await running.service.statusOf(running.service.send(frame).requestId);
    const react = async (reaction: object): Promise<MessageStatusFrame> => {
      const block = { chat_id: chatId, reaction: { target_message_guid: guid, ...reaction } };
      return await send({ message: withFooter('', block) });
    };
    const status = await make({ running, chatId, guid, send, react });
    expect(status, when).toMatchObject({ status: 'failed', error: { code } });
    expect(status.error?.message.length).toBeGreaterThan(3);
  });

  it.each(['animation', 'sticker'] as const)('M3 a %s needs both permissions', async (kind) => {
    const running = await runAgent(cleanup);
    const { chatId } = await running.play(person(ANNA, 'say'), { text: 'Hello' });
    const footer =
      kind === 'animation' ? { animation: { effect: 'slam', kind: 'bubble' } } : { chat_id: chatId, sticker };
    const cases = [
      [{ accessibility: false, automation: true }, 'AX_DENIED'],
      [{ accessibility: true, automation: false }, 'UI_AUTOMATION_DISABLED'],
    ] as const;
    for (const [permissions, code] of cases) {
      await running.play('/world', { permissions });
      const { requestId } = running.service.send({ message: withFooter('Hi', footer) });
      expect((await running.service.statusOf(requestId)).error?.code).toBe(code);
    }
    await running.play('/world', { permissions: { accessibility: false, automation: false } });
    const plain = await running.service.statusOf(running.service.send({}).requestId);
    expect(plain.status, 'a plain text needs neither').toBe('delivered');
  });

  it.each(['text', 'attachment', 'animation', 'voice', 'reaction', 'sticker'] as const)(
    'M3 a fault of the simulator makes a %s fail with its code',
    async (job) => {
      const running = await runAgent(cleanup);
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
