import { createHash } from 'node:crypto';

import { writeFooter } from '@footbridge/protocol/footer';
import type { SendFrame } from '@footbridge/protocol/frames';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import type { MessageView } from '@footbridge/simulator/simulation';
import { always, serveFiles } from '@footbridge/testkit/file-server';
import { SENDING_ENGINES } from './engine-agent.ts';
import { useEngine } from './engine.fixture.ts';
import { ANNA, BERT, person, PNG } from './running-agent.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

describe.each(SENDING_ENGINES)('on %s Messages', (engine) => {
  const { run, codes } = useEngine(engine, cleanup);

  describe('an outbound text', () => {
    it('M3 is sent and reported as delivered with its guid', async () => {
      const { service, messages } = await run();
      const { requestId, messageId } = service.send({ message: 'Good morning' });
      const status = await service.statusOf(requestId);
      const [message] = await messages();
      expect(status).toMatchObject({ messageId, status: 'delivered', guid: message?.guid });
      expect(message).toMatchObject({
        from: 'me',
        text: 'Good morning',
        service: 'iMessage',
        state: 'delivered',
      });
      expect(await until(() => service.unacked.size === 0)).toBe(true);
    });

    it('can be a reply, and is not sent when its target does not exist', async () => {
      const { service, play, messages } = await run();
      const { guid } = await play(person(ANNA, 'say'), { text: 'Really?' });
      const reply = (target: string): string => writeFooter('Yes', { reply_to: { message_guid: target } });
      await service.statusOf(service.send({ message: reply(guid) }).requestId);
      const lost = await service.statusOf(service.send({ message: reply('NOWHERE') }).requestId);
      expect((await messages()).map(({ text, replyTo }) => [text, replyTo])).toEqual([
        ['Really?', undefined],
        ['Yes', guid],
      ]);
      expect(lost.error?.code).toBe('TARGET_NOT_FOUND');
    });
  });

  describe('the destination', () => {
    it('F3 is the group with the chat_id', async () => {
      const { service, play, world } = await run();
      const { chatId } = await play('/groups', { recipients: [ANNA, BERT] });
      const message = writeFooter('All of you', { chat_id: chatId, is_group: true });
      await service.statusOf(service.send({ message }).requestId);
      const chats = (await world()).chats.filter((chat) => chat.messages.length > 0);
      expect(chats).toMatchObject([{ id: chatId, isGroup: true, messages: [{ text: 'All of you' }] }]);
    });

    it('F3 is the group with the recipients, in any order and notation, which is created once', async () => {
      const { service, world } = await run();
      const lists = [
        [ANNA, BERT],
        ['+1 (555) 010-0002', '+1 555 010 0001'],
        [BERT, ANNA, ANNA, '+15550100000'],
      ];
      for (const recipients of lists) {
        const message = writeFooter('Hi', { is_group: true, recipients });
        expect(await service.statusOf(service.send({ message }).requestId)).toMatchObject({
          status: 'delivered',
        });
      }
      expect((await world()).chats).toMatchObject([
        { isGroup: true, recipients: [ANNA, BERT], messages: [{}, {}, {}] },
      ]);
    });
  });

  describe('outbound attachments', () => {
    it('are sent unchanged after their text', async () => {
      const { service, messages } = await run();
      const files = await serveFiles(cleanup, always(PNG, 'image/png'));
      const { requestId } = service.send({
        message: 'Look',
        attachments: [`${files.url}/one.png`, `${files.url}/two.png?size=big`],
      });
      const status = await service.statusOf(requestId);
      const sent = await messages();
      expect(status).toMatchObject({ status: 'delivered', guid: sent[0]?.guid });
      const sha256 = createHash('sha256').update(PNG).digest('hex');
      expect(sent.map(({ text, attachments }) => ({ text, attachments }))).toEqual([
        { text: 'Look', attachments: [] },
        { text: '', attachments: [{ name: 'one.png', mime: 'image/png', size: PNG.byteLength, sha256 }] },
        { text: '', attachments: [{ name: 'two.png', mime: 'image/png', size: PNG.byteLength, sha256 }] },
      ]);
    });

    it('are sent without a text', async () => {
      const { service, play, messages } = await run();
      // BlueBubbles cannot begin a conversation with a file.
      await play(person(ANNA, 'say'), { text: 'Send it' });
      const files = await serveFiles(cleanup, always(PNG, 'image/png'));
      await service.statusOf(service.send({ message: null, attachments: [`${files.url}/a.png`] }).requestId);
      expect(await messages()).toMatchObject([
        { text: 'Send it' },
        { text: '', attachments: [{ name: 'a.png' }] },
      ]);
    });

    it('M4 are sent by a second attempt after a failure, without the text that was sent before', async () => {
      const { service, fail, heal, messages } = await run();
      const files = await serveFiles(cleanup, always(PNG, 'image/png'));
      await fail('file_refused');
      const frame = { messageId: 'half', message: 'Look', attachments: [`${files.url}/a.png`] };
      const first = await service.statusOf(service.send(frame).requestId);
      expect(first).toMatchObject({ status: 'failed', error: { code: codes.file_refused } });
      expect(first.error?.message).toContain('1 of 2 parts');
      await heal();
      expect(await service.statusOf(service.send(frame).requestId)).toMatchObject({ status: 'delivered' });
      expect((await messages()).map(({ text, attachments }) => [text, attachments.length])).toEqual([
        ['Look', 0],
        ['', 1],
      ]);
    });
  });

  describe('an outbound voice message', () => {
    // macOS has no way to send a voice message: there it is an audio file.
    const voices = {
      macos: { attachments: [{ name: 'hello.m4a', mime: 'audio/mp4', size: 5 }] },
      bluebubbles: { voice: { mime: 'audio/x-caf' }, attachments: [{ name: 'Audio Message.caf' }] },
    };

    it('F3 is sent from the first attachment', async () => {
      const { service, play, messages } = await run();
      await play(person(ANNA, 'say'), { text: 'Call me' });
      const files = await serveFiles(cleanup, always(Buffer.from('sound'), 'audio/mp4'));
      const message = writeFooter('', { voice: { duration_ms: 2300, mime_type: 'audio/mp4' } });
      await service.statusOf(service.send({ message, attachments: [`${files.url}/hello.m4a`] }).requestId);
      expect(await messages()).toMatchObject([{ text: 'Call me' }, voices[engine]]);
    });
  });

  describe('an outbound effect', () => {
    it.each([
      ['slam', 'bubble', 'slam'],
      ['Invisible Ink', 'bubble', 'invisible_ink'],
      ['confetti', 'screen', 'confetti'],
      ['CKHeartEffect', 'screen', 'love'],
    ] as const)('F3 %s is sent with its text', async (effect, kind, name) => {
      const { service, messages } = await run();
      const message = writeFooter('Congratulations', { animation: { effect, kind } });
      expect(await service.statusOf(service.send({ message }).requestId)).toMatchObject({
        status: 'delivered',
      });
      expect(await messages()).toMatchObject([{ text: 'Congratulations', effect: name }]);
    });
  });

  const animation = writeFooter('Hi', { animation: { effect: 'slam', kind: 'bubble' } });

  describe('the service of a message', () => {
    /** What was sent by a service. Both services can be in one chat. */
    const sentBy = (name: string, messages: readonly MessageView[]) =>
      messages
        .filter(({ service, from }) => service === name && from === 'me')
        .map(({ text, state }) => [text, state]);

    it.each(['imessage', 'sms'] as const)('W1 is iMessage on the path %s', async (channel) => {
      const { service, messages } = await run();
      for (const message of ['Hello', animation])
        expect(await service.statusOf(service.send({ channel, message }).requestId)).toMatchObject({
          status: 'delivered',
        });
      expect(sentBy('SMS', await messages())).toEqual([]);
      expect(sentBy('iMessage', await messages())).toEqual([
        ['Hello', 'delivered'],
        ['Hi', 'delivered'],
      ]);
    });

    it.each(['imessage', 'sms'] as const)(
      'W1 is SMS for a number that is not on iMessage, on the path %s',
      async (channel) => {
        const { service, play, messages } = await run();
        const { chatId } = await play(person(ANNA, 'say'), { text: 'Hi' });
        await play(person(ANNA), { imessage: false });
        for (const message of ['one', writeFooter('two', { chat_id: chatId })])
          expect(
            await service.statusOf(service.send({ channel, phone: ANNA, message }).requestId),
          ).toMatchObject({ status: 'delivered' });
        expect(sentBy('iMessage', await messages())).toEqual([
          ['one', 'failed'],
          ['two', 'failed'],
        ]);
        expect(sentBy('SMS', await messages())).toEqual([
          ['one', 'sent'],
          ['two', 'sent'],
        ]);
      },
    );

    it('W1 FOOTBRIDGE_CHANNEL=path: is the one that the path names', async () => {
      const { service, play, messages } = await run({ env: { FOOTBRIDGE_CHANNEL: 'path' } });
      const outcome = async (frame: Partial<SendFrame>) => {
        const { status, error } = await service.statusOf(service.send({ phone: ANNA, ...frame }).requestId);
        return error?.code ?? status;
      };
      expect(await outcome({ channel: 'sms', message: 'Hello' })).toBe('delivered');
      expect(await outcome({ channel: 'sms', message: animation })).toBe('IMESSAGE_ERROR');
      await play(person(ANNA), { imessage: false });
      expect(await outcome({ channel: 'imessage', message: 'Hello' })).toBe('IMESSAGE_ERROR');
      expect(sentBy('SMS', await messages())).toEqual([['Hello', 'sent']]);
      expect(sentBy('iMessage', await messages())).toEqual([['Hello', 'failed']]);
    });

    it('W1 does not change for content that SMS cannot carry, or after a failure with another cause', async () => {
      const { service, play, fail, heal, world } = await run();
      await fail('send_refused');
      expect((await service.statusOf(service.send({}).requestId)).error?.code).toBe(codes.send_refused);
      await heal();
      await play(person(ANNA), { imessage: false });
      const status = await service.statusOf(service.send({ message: animation }).requestId);
      expect(status.error).toMatchObject({ code: 'IMESSAGE_ERROR', message: expect.stringContaining('22') });
      expect((await world()).chats.map(({ service: name }) => name)).toEqual(['iMessage']);
    });
  });
});

// What is decided before a send is the same for all engines.
describe('an outbound message', () => {
  const { run } = useEngine('simulated', cleanup);

  it('F2 is sent without its footer', async () => {
    const { service, messages } = await run();
    const message = writeFooter('Only this', { service_name: 'iMessage', something: 'else' });
    await service.statusOf(service.send({ message }).requestId);
    expect((await messages()).map((sent) => sent.text)).toEqual(['Only this']);
  });

  it.each([
    ['an unknown channel', { channel: 'pigeon' }],
    ['no phone', { phone: '' }],
    ['an attachment that is not an http URL', { attachments: ['file:///etc/passwd'] }],
  ])('M3 with %s is reported as failed', async (_, fault) => {
    const { service, messages } = await run();
    const { requestId, messageId } = service.send(fault as Partial<SendFrame>);
    expect(await service.statusOf(requestId)).toMatchObject({
      messageId,
      status: 'failed',
      error: { code: 'INVALID_FRAME', message: expect.stringContaining('Nothing was sent') },
    });
    expect(await messages()).toEqual([]);
  });

  it('F4 with a malformed footer is not sent', async () => {
    const { service, messages } = await run();
    const broken = [
      'Hi\n-- svc-metadata:v1 --\n{"chat_id": 1,\n-- end svc-metadata --',
      'Hi\n-- svc-metadata:v1 --\n{"chat_id": 1}',
      'Hi\n[[SVMD:v1:%%%]]',
      '"reaction":{}}\n-- end svc-metadata --',
    ];
    for (const message of broken) {
      const status = await service.statusOf(service.send({ message }).requestId);
      expect(status).toMatchObject({ status: 'failed', error: { code: 'INVALID_FRAME' } });
    }
    expect(await messages()).toEqual([]);
  });

  it('F4 is not sent when it consists of only a footer', async () => {
    const { service, messages } = await run();
    const message = writeFooter('  ', { is_group: false });
    const status = await service.statusOf(service.send({ message }).requestId);
    expect(status).toMatchObject({ status: 'failed', error: { code: 'INVALID_FRAME' } });
    expect(await messages()).toEqual([]);
  });

  it('is sent once all its files are downloaded', async () => {
    const { service, messages } = await run();
    const files = await serveFiles(cleanup, (request, response) => {
      response.writeHead(request.url === '/good.png' ? 200 : 404).end(PNG);
    });
    const attachments = [`${files.url}/good.png`, `${files.url}/gone.png`];
    const status = await service.statusOf(service.send({ message: 'Look', attachments }).requestId);
    expect(status).toMatchObject({ status: 'failed', error: { code: 'IMESSAGE_ERROR' } });
    expect(status.error?.message).toContain('404');
    expect(await messages()).toEqual([]);
  });

  it('F7 with a voice block and without an audio attachment is rejected', async () => {
    const { service, messages } = await run();
    const files = await serveFiles(cleanup, always(PNG, 'image/png'));
    const message = writeFooter('Hi', { voice: { duration_ms: 1 } });
    for (const attachments of [[], [`${files.url}/a.png`]]) {
      const status = await service.statusOf(service.send({ message, attachments }).requestId);
      expect(status.error?.code).toBe('INVALID_FRAME');
    }
    expect(await messages()).toEqual([]);
  });

  it('with an effect that is not possible is rejected, and its text is not sent without it', async () => {
    const { service, messages } = await run();
    const cases = [
      [
        { message: writeFooter('Hi', { animation: { effect: 'earthquake', kind: 'screen' } }) },
        'NOT_IMPLEMENTED',
      ],
      [{ message: writeFooter('Hi', { animation: { effect: 'slam', kind: 'screen' } }) }, 'INVALID_FRAME'],
      [{ message: writeFooter('', { animation: { effect: 'slam', kind: 'bubble' } }) }, 'INVALID_FRAME'],
    ] as const;
    for (const [frame, code] of cases) {
      expect((await service.statusOf(service.send(frame).requestId)).error?.code).toBe(code);
    }
    expect(await messages()).toEqual([]);
  });
});
