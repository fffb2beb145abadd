import { createCleanup } from '@footbridge/testkit/cleanup';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import { until } from '@footbridge/testkit/until';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { runAgent, withFooter } from './running-agent.ts';
import type { RunningAgent, RunOptions } from './running-agent.ts';

const ANNA = '+15550100001';
const BERT = '+15550100002';

const cleanup = createCleanup();
let macos: SimulatedMacos;
beforeEach(async () => {
  macos = await startSimulatedMacos();
  cleanup.add(() => macos.stop());
});
afterEach(() => cleanup.run());

const start = (options: RunOptions = {}): Promise<RunningAgent> =>
  runAgent(cleanup, { mac: { home: macos.home, programs: macos.commands }, ...options });

describe('the agent on a Mac', () => {
  it('registers with the version of macOS and the capabilities of the engine', async () => {
    const { service } = await start();
    expect(service.registrations[0]).toMatchObject({
      os: { name: 'macOS', version: '26.1' },
      capabilities: expect.arrayContaining(['text', 'groups', 'attachments']),
    });
  });

  it('sends a text and reports delivered with the guid of its row', async () => {
    const { service } = await start();
    const { requestId } = service.send({ phone: ANNA, message: 'Hello' });
    const status = await service.statusOf(requestId);
    expect(status).toMatchObject({ status: 'delivered', guid: expect.stringMatching(/^[0-9A-F-]{36}$/) });
    expect(await macos.messages.sent()).toEqual([
      { to: { service: 'iMessage', handle: ANNA }, text: 'Hello' },
    ]);
  });

  it('W1 sends an SMS to a number that is certainly not on iMessage', async () => {
    await macos.messages.configure({ notOnIMessage: [ANNA] });
    const { service } = await start();
    const { requestId } = service.send({ phone: ANNA, message: 'Hello' });
    expect(await service.statusOf(requestId)).toMatchObject({ status: 'delivered' });
    expect((await macos.messages.sent()).map(({ to }) => ('service' in to ? to.service : ''))).toEqual([
      'iMessage',
      'SMS',
    ]);
  });

  it('reports what people write in order, despite late joins and bodies, and none of its own texts', async () => {
    const { service } = await start();
    const delays = { join: 150, body: 300 };
    for (const text of ['One', 'Two', 'Three']) await macos.messages.write({ from: ANNA, text, delays });
    await macos.messages.write({ from: 'me', chat: { members: [ANNA], service: 'iMessage' }, text: 'Mine' });
    await macos.messages.write({
      from: BERT,
      chat: { members: [ANNA, BERT], service: 'iMessage' },
      text: 'All of you',
      delays,
    });
    await until(() => service.received.length === 4);
    const texts = service.received.filter(({ sender }) => sender === ANNA).map(({ text }) => text);
    expect(texts).toEqual(['One', 'Two', 'Three']);
    expect(service.received.find(({ sender }) => sender === BERT)).toMatchObject({
      text: 'All of you',
      chat: { isGroup: true, recipients: expect.arrayContaining([ANNA, BERT]) },
    });
  });

  it('M4 sends a text once when osascript dies after the send', async () => {
    await macos.messages.breakOsascript({ faults: ['killed_after'] });
    const { service } = await start();
    const { requestId } = service.send({ phone: ANNA, message: 'Hello' });
    expect(await service.statusOf(requestId)).toMatchObject({ status: 'delivered' });
    expect(await macos.messages.sent()).toHaveLength(1);
  });

  it('F9 reacts, replies in a thread, sends an effect and creates a group on the screen', async () => {
    const { service } = await start();
    const { guid } = await macos.messages.write({ from: ANNA, text: 'Where?' });
    await until(() => service.received.length === 1);
    const chatId = service.received[0]?.chat.id;
    const deliver = async (frame: Parameters<typeof service.send>[0]): Promise<void> => {
      const { requestId } = service.send({ phone: ANNA, ...frame });
      expect(await service.statusOf(requestId)).toMatchObject({ status: 'delivered' });
    };
    const reaction = { target_message_guid: guid, kind: 'classic', action: 'add', type: 'love' };
    await deliver({ message: withFooter('Loved', { chat_id: chatId, reaction }) });
    await deliver({ message: withFooter('Loved', { chat_id: chatId, reaction }) });
    await deliver({ message: withFooter('There', { chat_id: chatId, reply_to: { message_guid: guid } }) });
    await deliver({ message: withFooter('Wow', { chat_id: chatId, animation: { effect: 'confetti' } }) });
    await deliver({ message: withFooter('All', { is_group: true, recipients: [ANNA, BERT] }) });
    expect(await macos.messages.screenActions()).toMatchObject({
      presses: [{ guid, code: 2000 }],
      sends: [
        { members: [ANNA], text: 'There', replyTo: guid },
        { members: [ANNA], text: 'Wow', effect: 'com.apple.messages.effect.CKConfettiEffect' },
        { members: [ANNA, BERT], text: 'All' },
      ],
    });
    expect(await macos.messages.sent()).toEqual([]);
  });

  it('M3 names the permission when macOS does not let the agent control Messages', async () => {
    await macos.messages.configure({ faults: [{ event: 'accounts', error: -1743 }] });
    const { service } = await start();
    const { requestId } = service.send({ phone: ANNA, message: 'Hello' });
    expect(await service.statusOf(requestId)).toMatchObject({
      status: 'failed',
      error: { code: 'AX_DENIED', message: expect.stringContaining('Automation') },
    });
    expect(await macos.messages.sent()).toEqual([]);
  });

  it('has no text and no number in process arguments or in its log', async () => {
    const { service, logs } = await start();
    const { requestId } = service.send({ phone: '+15557654321', message: 'canary-text' });
    await service.statusOf(requestId);
    const calls = JSON.stringify(await macos.messages.calls());
    expect(calls).toContain('-l');
    for (const trace of [calls, logs.join('\n')]) {
      expect(trace).not.toContain('canary-text');
      expect(trace).not.toContain('7654321');
    }
  });
});
