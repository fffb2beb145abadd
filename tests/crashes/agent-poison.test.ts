import { writeFooter } from '@footbridge/protocol/footer';
import type { Agent } from '@footbridge/testkit/agent';
import { endsAt } from '@footbridge/testkit/fatal-text';
import type { Service } from '@footbridge/testkit/service';
import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import { cleanupOf, PHONE } from './crash-setup.ts';
import {
  counted,
  nothingIsSetAside,
  POISON,
  redelivered,
  sendUntilAnswered,
  setUp,
  shownAsIssue,
  texts,
  WITHIN,
} from './poison-setup.ts';
import type { Supervised } from './poison-setup.ts';

const OTHER = '+14155550199';
const GIF = Buffer.from('GIF89a\x01\0\x01\0\0\0\0\x3b', 'latin1');

/** Says it also while the agent is about to end: the row is in the store then. */
const say = (agent: Agent, handle: string, text: string) =>
  agent.say(handle, { text }).catch(() => undefined);

/** Starts the agent without the fault. */
async function repaired(agent: Agent, supervised: Supervised): Promise<void> {
  supervised.env = {};
  const ends = supervised.ends + 1;
  await agent.kill9();
  await until(() => supervised.ends === ends && agent.isRunning, WITHIN);
  await agent.registered();
}

/** The message that is set aside. */
async function messageOf(service: Service, direction: string): Promise<{ id: string; status: string }> {
  const path = `/operator/messages?code=SET_ASIDE&direction=${direction}`;
  const { body } = await service.operator('GET', path);
  const [message] = (Object(body) as { messages: { id: string; status: string }[] }).messages;
  if (message === undefined) throw new Error('no message is set aside');
  return message;
}

describe.concurrent('a message that ends the agent twice', () => {
  it('I10 is set aside when it is received; the others go on, and it can be read again', async (test) => {
    const { crm, service, agent, supervised } = await setUp(cleanupOf(test), { agent: endsAt(POISON) });
    await say(agent, PHONE, `${POISON} 1`);
    await until(() => supervised.ends === 2 && agent.isRunning, WITHIN);
    await agent.registered();
    await say(agent, OTHER, 'harmless');
    await say(agent, PHONE, 'the next one of this person');
    await until(() => texts(crm).length === 2, WITHIN);
    await shownAsIssue(service, /^1 message is set aside: /);
    expect(supervised.ends).toBe(2);
    expect(new Set(texts(crm))).toEqual(new Set(['harmless', 'the next one of this person']));
    expect(await counted(service, 'inbound')).toBe(1);
    const { id, status } = await messageOf(service, 'inbound');
    expect(status).toBe('undeliverable');
    expect(agent.logs.map(({ event }) => event)).toContain('inbound.set_aside');

    await repaired(agent, supervised);
    await until(async () => (await redelivered(service, `/operator/messages/${id}`)) === 202, {
      ...WITHIN,
      every: 500,
    });
    await until(() => texts(crm).includes(`${POISON} 1`), WITHIN);
    expect(texts(crm)).toHaveLength(3);
  }, 300_000);

  it('I10 lets messages pass that come between the ends of the agent', async (test) => {
    const { crm, agent, supervised } = await setUp(cleanupOf(test), { agent: endsAt(POISON) });
    await say(agent, PHONE, `${POISON} 1`);
    await until(() => supervised.ends === 1 && agent.isRunning, WITHIN);
    await agent.registered();
    await say(agent, OTHER, 'harmless');
    await until(() => texts(crm).includes('harmless'), WITHIN);
    expect(supervised.ends).toBe(1);
    await until(() => supervised.ends === 2 && agent.isRunning, WITHIN);
    await agent.registered();
  }, 300_000);

  it('I10 is reported as failed when it is sent; the others go on, and the CRM can send it again', async (test) => {
    const { crm, service, agent, supervised } = await setUp(cleanupOf(test), { agent: endsAt(POISON) });
    const poison = { messageId: 'poison-1', message: POISON };
    expect((await sendUntilAnswered(crm, poison)).status).toBe(200);
    await until(() => crm.accepted('poison-1').includes('failed'), WITHIN);
    expect(supervised.ends).toBe(2);
    expect(crm.statusesOf('poison-1').at(-1)?.error).toMatchObject({ code: 'SET_ASIDE' });
    expect((await sendUntilAnswered(crm, { messageId: 'harmless', message: 'Hi' })).status).toBe(200);
    await until(() => crm.accepted('harmless').at(-1) === 'delivered', WITHIN);
    await shownAsIssue(service, /^1 message is set aside: /);
    expect(await counted(service, 'outbound')).toBe(1);
    expect(await sendUntilAnswered(crm, poison)).toMatchObject({
      status: 422,
      answer: { code: 'SET_ASIDE' },
    });

    await repaired(agent, supervised);
    await until(async () => (await redelivered(service, '/operator/messages/poison-1')) === 202, {
      ...WITHIN,
      every: 500,
    });
    expect((await sendUntilAnswered(crm, poison)).status).toBe(200);
    await until(() => crm.accepted('poison-1').at(-1) === 'delivered', WITHIN);
    expect(supervised.ends).toBe(3);
  }, 300_000);

  it('I10 is reported as failed when the agent ends in the job; later jobs go first', async (test) => {
    const { crm, agent, supervised } = await setUp(cleanupOf(test), { agent: endsAt('GIF89a') });
    const { chatId } = await agent.say(PHONE, { text: 'hello' });
    await until(() => texts(crm).includes('hello'), WITHIN);
    const message = writeFooter('', { chat_id: chatId, sticker: { bytes: GIF.toString('base64') } });
    expect((await sendUntilAnswered(crm, { messageId: 'sticker', message })).status).toBe(200);
    await until(() => supervised.ends === 1 && agent.isRunning, WITHIN);
    await agent.registered();
    const later = { phone: OTHER, messageId: 'later', message: 'Hi' };
    expect((await sendUntilAnswered(crm, later)).status).toBe(200);
    await until(() => crm.accepted('later').at(-1) === 'delivered', WITHIN);
    expect(supervised.ends).toBe(1);
    await until(() => crm.accepted('sticker').includes('failed'), WITHIN);
    expect(supervised.ends).toBe(2);
    expect(crm.statusesOf('sticker').at(-1)?.error).toMatchObject({ code: 'SET_ASIDE' });
  }, 300_000);
});

describe('kill -9 of the agent from outside', () => {
  it('I10 sets no message aside', async (test) => {
    const setup = await setUp(cleanupOf(test), { agent: {} });
    const { agent } = setup;
    await nothingIsSetAside(setup, agent, {
      kills: 8,
      say: (handle, text) => say(agent, handle, text),
      restarted: () => agent.registered(),
    });
  }, 300_000);
});
