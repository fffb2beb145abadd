import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { useEngine } from './engine.fixture.ts';
import { ANNA, person, withFooter } from './running-agent.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

// The queue comes before the engine.
describe('the agent', () => {
  const { run, codes } = useEngine('simulated', cleanup);

  describe('M2 the queue', () => {
    it('M2 keeps requests in order up to its limit, 500 by default, and rejects the others as RATE_LIMITED', async () => {
      const [limit, requests] = [500, 600];
      const { service, hold, release, queued, messages } = await run();
      await hold();
      const frames = Array.from({ length: requests }, (_, index) =>
        service.send({ message: `number ${index}` }),
      );
      await until(() => service.statuses.length === requests - limit, { what: 'the rejections' });
      for (const { requestId, messageId } of frames.slice(limit)) {
        expect(service.statuses.find((status) => status.requestId === requestId)).toMatchObject({
          messageId,
          status: 'failed',
          error: { code: 'RATE_LIMITED', message: expect.stringContaining('queue is full') },
        });
      }
      expect(queued()).toBe(limit);
      await release();
      await until(() => service.statuses.length === requests, { what: 'every status' });
      expect((await messages()).map((message) => message.text)).toEqual(
        Array.from({ length: limit }, (_, index) => `number ${index}`),
      );
      expect(queued()).toBe(0);
    });

    it('M2 accepts a repeat of a rejected request', async () => {
      const { service, hold, release, messages } = await run({ env: { FOOTBRIDGE_QUEUE_LIMIT: '1' } });
      await hold();
      const first = service.send({ message: 'first' });
      const second = { messageId: 'second', message: 'second' };
      expect((await service.statusOf(service.send(second).requestId)).error?.code).toBe('RATE_LIMITED');
      await release();
      await service.statusOf(first.requestId);
      expect((await service.statusOf(service.send(second).requestId)).status).toBe('delivered');
      expect((await messages()).map((message) => message.text)).toEqual(['first', 'second']);
    });

    it('M10 does not queue a rejected request that comes again with its requestId', async () => {
      const { service, hold, release, messages } = await run({ env: { FOOTBRIDGE_QUEUE_LIMIT: '1' } });
      await hold();
      const first = service.send({ message: 'first' });
      const second = service.send({ messageId: null, message: 'second' });
      expect((await service.statusOf(second.requestId)).error?.code).toBe('RATE_LIMITED');
      await release();
      await service.statusOf(first.requestId);
      service.send({ ...second, again: true });
      await service.statusOf(service.send({ message: 'third' }).requestId);
      expect((await messages()).map((message) => message.text)).toEqual(['first', 'third']);
      expect(service.statuses).toHaveLength(3);
    });

    it('M2 has jobs of all kinds in one order', async () => {
      const { service, play, hold, release, queued, messages } = await run();
      const { guid, chatId } = await play(person(ANNA, 'say'), { text: 'Hello' });
      await hold();
      const reaction = { kind: 'classic', action: 'add', type: 'love', target_message_guid: guid };
      const frames = [
        service.send({ message: 'one' }),
        service.send({ message: withFooter('', { chat_id: chatId, reaction }) }),
        service.send({ message: withFooter('three', { animation: { effect: 'slam', kind: 'bubble' } }) }),
      ];
      await until(() => queued() === 3, { what: 'three jobs' });
      await release();
      expect(await service.statusOf(frames[2]?.requestId ?? '')).toMatchObject({ status: 'delivered' });
      expect(service.statuses.map((status) => status.requestId)).toEqual(
        frames.map((frame) => frame.requestId),
      );
      expect((await messages()).map((message) => message.text)).toEqual(['Hello', 'one', 'three']);
    });
  });

  describe('M4 a messageId', () => {
    it('M4 repeated fifty times is one text and fifty statuses', async () => {
      const { service, messages } = await run();
      const frames = Array.from({ length: 50 }, () =>
        service.send({ messageId: 'the-one', message: 'Once' }),
      );
      for (const { requestId } of frames) {
        expect(await service.statusOf(requestId)).toMatchObject({
          status: 'delivered',
          messageId: 'the-one',
        });
      }
      const again = service.send({ messageId: 'the-one', message: 'Once' });
      expect(await service.statusOf(again.requestId)).toMatchObject({ status: 'delivered' });
      expect(new Set(service.statuses.map((status) => status.guid)).size).toBe(1);
      expect(await messages()).toHaveLength(1);
    });

    it('M4 that is in the queue is not queued twice, and both requests get a status', async () => {
      const { service, hold, release, queued, messages } = await run();
      await hold();
      service.send({ message: 'before' });
      const first = service.send({ messageId: 'same', message: 'Hi' });
      const second = service.send({ messageId: 'same', message: 'Hi' });
      await service.settled();
      expect(queued()).toBe(2);
      await release();
      expect((await service.statusOf(second.requestId)).guid).toBe(
        (await service.statusOf(first.requestId)).guid,
      );
      expect(await messages()).toHaveLength(2);
    });

    it('M4 that failed is tried again', async () => {
      const { service, fail, heal, messages } = await run();
      await fail('send_refused');
      const frame = { messageId: 'again', message: 'Hi' };
      expect((await service.statusOf(service.send(frame).requestId)).error?.code).toBe(codes.send_refused);
      await heal();
      expect((await service.statusOf(service.send(frame).requestId)).status).toBe('delivered');
      expect(await messages()).toHaveLength(1);
    });

    it('M4 with another text, phone or file is rejected', async () => {
      const { service, messages } = await run();
      await service.statusOf(service.send({ messageId: 'id', message: 'First' }).requestId);
      for (const other of [
        { message: 'Second' },
        { phone: '+15550100002' },
        { attachments: ['https://x.example/a'] },
      ]) {
        const status = await service.statusOf(
          service.send({ messageId: 'id', message: 'First', ...other }).requestId,
        );
        expect(status).toMatchObject({ status: 'failed', error: { code: 'INVALID_FRAME' } });
      }
      expect(await messages()).toHaveLength(1);
      const same = await service.statusOf(service.send({ messageId: 'id', message: 'First' }).requestId);
      expect(same.status).toBe('delivered');
    });

    it('M4 with an unknown outcome is never sent again', async () => {
      const { service, fail, heal, statusOfLost, requested } = await run();
      await fail('send_lost');
      const frame = { messageId: 'unknown', message: 'Hi' };
      const first = await statusOfLost(service.send(frame).requestId);
      expect(first).toMatchObject({ status: 'failed', error: { code: codes.send_lost } });
      await heal();
      const again = await service.statusOf(service.send(frame).requestId);
      expect(again.error).toEqual(first.error);
      expect(await requested()).toBe(1);
    });

    it('M4 that is null makes each request a separate message', async () => {
      const { service, messages } = await run();
      const frames = [1, 2].map(() => service.send({ messageId: null, message: 'Hi' }));
      for (const { requestId } of frames) {
        expect(await service.statusOf(requestId)).toMatchObject({ status: 'delivered', messageId: null });
      }
      expect(await messages()).toHaveLength(2);
    });

    it.each([null, 'm-1'])(
      'M10 %j with a requestId that comes again is confirmed again, and sent and reported once',
      async (messageId) => {
        const { service, messages } = await run();
        const frame = service.send({ messageId, message: 'Hi' });
        service.send({ ...frame, again: true });
        await service.statusOf(frame.requestId);
        service.send({ ...frame, again: true });
        await service.settled();
        expect(service.confirmed).toEqual([frame.requestId, frame.requestId, frame.requestId]);
        expect(service.statuses).toHaveLength(1);
        expect(await messages()).toHaveLength(1);
      },
    );

    it('M10 that failed is not tried again for a requestId that comes again', async () => {
      const { service, messages, fail, heal } = await run();
      await fail('send_refused');
      const frame = service.send({ messageId: 'm-1', message: 'Hi' });
      expect(await service.statusOf(frame.requestId)).toMatchObject({ status: 'failed' });
      await heal();
      service.send({ ...frame, again: true });
      await service.settled();
      expect(service.statuses).toHaveLength(1);
      expect(await messages()).toHaveLength(0);
    });

    it('M10 of a reaction is not evaluated again for a requestId that comes again', async () => {
      const { service, messages, play } = await run();
      const { guid, chatId } = await play(person(ANNA, 'say'), { text: 'Hello' });
      const react = (action: string) => {
        const reaction = { target_message_guid: guid, kind: 'classic', action, type: 'love' };
        return service.send({ message: withFooter('', { chat_id: chatId, reaction }) });
      };
      const added = react('add');
      await service.statusOf(added.requestId);
      await service.statusOf(react('remove').requestId);
      service.send({ ...added, again: true });
      await service.settled();
      expect((await messages())[0]?.reactions).toEqual([]);
    });

    it('M4 is remembered over a restart', async () => {
      const first = await run();
      const { service, config } = first;
      await service.statusOf(service.send({ messageId: 'kept', message: 'Hi' }).requestId);
      await first.agent.stop();
      const second = await run({ service, dataDir: config.dataDir });
      const again = service.send({ messageId: 'kept', message: 'Hi' });
      expect((await service.statusOf(again.requestId)).status).toBe('delivered');
      expect(await second.messages()).toHaveLength(1);
    });
  });
});
