import { setTimeout as sleep } from 'node:timers/promises';

import { startAgent } from '@footbridge/testkit/agent';
import type { Agent } from '@footbridge/testkit/agent';
import { startCrm } from '@footbridge/testkit/crm';
import type { Crm } from '@footbridge/testkit/crm';
import { crmEnv } from '@footbridge/testkit/crm-env';
import { startFaultProxy } from '@footbridge/testkit/fault-proxy';
import { startService } from '@footbridge/testkit/service';
import type { Service } from '@footbridge/testkit/service';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { always, serveFiles } from '@footbridge/testkit/file-server';
import { ANNA, BERT, PNG, withFooter } from './running-agent.ts';

/** From a signed webhook through the real service and the real agent, and back to the CRM. */
const undoAll = createCleanup();
const cleanup = createCleanup();
let crm: Crm;
let service: Service;
let license: string;

beforeAll(async () => {
  crm = await startCrm();
  undoAll.add(() => crm.stop());
  // With the CRM's own rate limit, 600 statuses would take minutes.
  crm.settings.rateLimit = { max: 100_000, intervalMs: 10_000, daily: 1_000_000 };
  service = await startService({
    env: {
      ...crmEnv(crm),
      CRM_OAUTH_REFRESH_THRESHOLD_SEC: '60',
      RATE_LIMIT_CRM_WEBHOOK: '100000',
      RATE_LIMIT_CRM_CALLS: '100000',
    },
  });
  undoAll.add(() => service.stop());
  crm.bridgeUrl = service.url;
  license = (await service.license()).key;
});
afterEach(() => cleanup.run());
afterAll(() => undoAll.run());

/** Starts an agent for a new location. */
async function agentFor(location: string, macos: string, url = service.url): Promise<Agent> {
  await fetch(`${service.url}/oauth/callback/crm?code=${crm.install({ locationId: location })}`);
  const agent = await startAgent({ url, license, location, macos, args: ['--allow-loopback'] });
  cleanup.add(() => agent.stop());
  await agent.registered();
  return agent;
}

/** Sends a webhook and waits for the terminal status: `delivered`, or the code of the failure. */
async function outcome(locationId: string, fields: object): Promise<string> {
  const sent = await crm.sendWebhook({ locationId, phone: ANNA, ...fields });
  expect(sent.status).toBe(200);
  const { messageId = '' } = sent;
  await until(() => crm.accepted(messageId).length === 2, { what: 'the terminal status' });
  const [pending, last] = crm.accepted(messageId);
  expect(pending).toBe('pending');
  const error: unknown = crm.statusesOf(messageId).at(-1)?.error;
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : String(last);
}

const picture = { name: 'photo.png', mime: 'image/png', base64: PNG.toString('base64') };

describe('over a dead link that looks alive', () => {
  it('M10 every message is sent once, in order, and reported as delivered', async () => {
    const location = 'deadlink';
    const proxy = await startFaultProxy({ to: service.url });
    cleanup.add(() => proxy.stop());
    const agent = await agentFor(location, '26.1', proxy.url(service.url));
    const texts: string[] = [];
    const ids: string[] = [];
    const send = async (text: string) => {
      const { status, messageId = '' } = await crm.sendWebhook({
        locationId: location,
        phone: ANNA,
        message: text,
      });
      if (status !== 200) return;
      texts.push(text);
      ids.push(messageId);
    };
    await send('before');
    const dead = proxy.add({ type: 'timeout' });
    for (let index = 0; index < 30; index++) {
      await send(`while dead ${index}`);
      await sleep(50);
    }
    const registrations = () => agent.logs.filter(({ msg }) => msg === 'registered').length;
    const before = registrations();
    dead.remove();
    await until(() => registrations() > before, { what: 'the agent is back' });
    await send('after');
    await until(() => ids.every((id) => crm.accepted(id).length === 2), { what: 'every status' });
    expect(new Set(ids.map((id) => crm.accepted(id).join(' ')))).toEqual(new Set(['pending delivered']));
    const { chats } = await agent.simulatorState();
    expect(chats.flatMap(({ messages }) => messages.map(({ text }) => text))).toEqual(texts);
    expect(texts.length).toBeGreaterThan(10);
  });
});

describe('from the CRM to a person and back', () => {
  it.each([
    ['14.8', 'EMOJI_NOT_IN_RECENTS', 'STICKER_NOT_FEASIBLE', 'COMPOSE_FAILED'],
    ['15.6', 'EMOJI_NOT_IN_RECENTS', 'delivered', 'delivered'],
    ['26.1', 'delivered', 'delivered', 'delivered'],
  ])('M5 every capability works on macOS %s', async (macos, emoji, stickerReaction, sticker) => {
    const location = `tour${macos.replace('.', '')}`;
    const agent = await agentFor(location, macos);
    const files = await serveFiles(cleanup, always(PNG, 'audio/mp4'));
    const attachments = [`${files.url}/a.m4a`];
    expect(await outcome(location, { message: 'Hello' })).toBe('delivered');
    const [chat] = (await agent.simulatorState()).chats;
    const target = chat?.messages[0]?.guid ?? '';
    const react = (reaction: object): object => ({
      message: withFooter('', {
        chat_id: chat?.id,
        reaction: { action: 'add', target_message_guid: target, ...reaction },
      }),
    });
    const animation = { effect: 'slam', kind: 'bubble' };
    const image = { bytes: picture.base64 };
    expect(await outcome(location, { message: withFooter('All', { recipients: [ANNA, BERT] }) })).toBe(
      'delivered',
    );
    expect(await outcome(location, { message: 'Look', attachments })).toBe('delivered');
    expect(await outcome(location, { message: withFooter('', { voice: {} }), attachments })).toBe(
      'delivered',
    );
    expect(await outcome(location, { message: withFooter('Boom', { animation }) })).toBe('delivered');
    expect(await outcome(location, react({ kind: 'classic', type: 'love' }))).toBe('delivered');
    expect(await outcome(location, react({ kind: 'emoji', emoji: '🔥' }))).toBe(emoji);
    expect(await outcome(location, react({ kind: 'sticker', sticker: image }))).toBe(stickerReaction);
    expect(await outcome(location, { message: withFooter('', { chat_id: chat?.id, sticker: image }) })).toBe(
      sticker,
    );

    const here = (): typeof crm.messages => crm.messages.filter((message) => message.locationId === location);
    await agent.say(ANNA, { text: 'A picture', attachments: [picture] });
    await agent.sticker(ANNA, picture);
    await agent.say(ANNA, { voice: { ...picture, mime: 'audio/mp4', durationMs: 900 } });
    await agent.say(ANNA, { text: 'Wow', effect: 'confetti', replyTo: target });
    await agent.react(ANNA, {
      targetGuid: target,
      kind: 'classic',
      action: 'add',
      type: 'laugh',
      locale: 'nl',
    });
    await until(() => here().length === 5, { what: 'five inbound messages' });
    const bodies = here().map((message) => message.message);
    expect(bodies[0]).toBe('A picture');
    expect(bodies[1]).toContain('"sticker"');
    expect(bodies[2]).toContain('"duration_ms":900');
    expect(bodies[3]).toContain('"animation"');
    expect(bodies[4]).toContain('"type":"laugh"');
    expect(here().map((message) => message.attachments.length)).toEqual([1, 1, 1, 0, 0]);
  });

  it('M2 500 of 600 webhooks are queued and sent in order, the others end as RATE_LIMITED', async () => {
    const agent = await agentFor('burst', '26.1');
    await agent.change({ delayMs: 3_600_000 });
    const numbers = Array.from({ length: 600 }, (_, index) => `burst-${index}`);
    for (const messageId of numbers) {
      const fields = { locationId: 'burst', phone: ANNA, message: messageId, messageId };
      expect((await crm.sendWebhook(fields)).status).toBe(200);
    }
    // The response to a webhook does not wait for the Mac.
    await until(async () => (await agent.simulatorState()).queue === 500, { what: 'a full queue' });
    await agent.change({ delayMs: 0 });
    await until(() => numbers.every((messageId) => crm.accepted(messageId).length === 2), {
      within: 240_000,
      what: 'two status calls for each',
    });
    const last = (messageId: string) => crm.statusesOf(messageId).at(-1);
    for (const messageId of numbers.slice(0, 500))
      expect(crm.accepted(messageId)).toEqual(['pending', 'delivered']);
    for (const messageId of numbers.slice(500))
      expect(last(messageId)).toMatchObject({
        status: 'failed',
        error: { code: 'RATE_LIMITED', message: expect.stringContaining('queue is full') },
      });
    const texts = (await agent.simulatorState()).chats.flatMap((chat) =>
      chat.messages.map((message) => message.text),
    );
    expect(texts).toEqual(numbers.slice(0, 500));
  });

  it('M4 fifty repeats of a webhook send one text, even with a kill -9 of the agent between them', async () => {
    const agent = await agentFor('fifty', '26.1');
    const same = { locationId: 'fifty', phone: ANNA, message: 'Once', messageId: 'fifty-1', contactId: 'c1' };
    await Promise.all(Array.from({ length: 25 }, () => crm.sendWebhook(same)));
    await agent.kill9();
    await agent.start();
    await agent.registered();
    const answers = await Promise.all(Array.from({ length: 25 }, () => crm.sendWebhook(same)));
    expect(answers.every((answer) => answer.status === 200)).toBe(true);
    const terminal = (): string[] => crm.accepted('fifty-1').filter((status) => status !== 'pending');
    await until(() => terminal().length > 0, { what: 'the outcome' });
    await until(async () => (await agent.simulatorState()).queue === 0);
    const texts = (await agent.simulatorState()).chats.flatMap((chat) =>
      chat.messages.map((message) => message.text),
    );
    // Killed during the send: the outcome is unknown, so it is not sent again and reported as failed.
    if (terminal().includes('delivered')) {
      expect(texts).toEqual(['Once']);
      expect(crm.accepted('fifty-1')).toEqual(['pending', 'delivered']);
    } else expect(texts.length).toBeLessThanOrEqual(1);
    expect(new Set(terminal()).size).toBe(1);
  });
});
