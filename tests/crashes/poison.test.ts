import type { MessageContent } from '@footbridge/testkit/agent';
import { endsAt } from '@footbridge/testkit/fatal-text';
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

const file = (name: string) => ({
  name,
  mime: 'text/plain',
  base64: Buffer.from('harmless bytes').toString('base64'),
});

describe.concurrent('a message that ends the service twice', () => {
  it('I10 is set aside when it is inbound; the others go on, and it can be sent again', async (test) => {
    const { crm, service, agent, supervised } = await setUp(cleanupOf(test), { service: endsAt(POISON) });
    const { guid } = await agent.say(PHONE, { text: `${POISON} 1` });
    await agent.say('+14155550199', { text: 'harmless' });
    await until(() => texts(crm).includes('harmless'), WITHIN);
    await shownAsIssue(service, /^1 message is set aside: /);
    expect(supervised.ends).toBe(2);
    expect(await counted(service, 'inbound')).toBe(1);
    const path = `/operator/messages/${guid}`;
    const { body } = await service.operator('GET', path);
    expect(body).toMatchObject({ status: 'undeliverable', code: 'SET_ASIDE' });
    expect(texts(crm)).toEqual(['harmless']);

    supervised.env = {};
    await service.kill9();
    await until(() => supervised.ends === 3 && service.isRunning, WITHIN);
    await until(async () => (await redelivered(service, path)) === 202, { ...WITHIN, every: 500 });
    await until(() => texts(crm).includes(`${POISON} 1`), WITHIN);
  }, 300_000);

  it.for<[what: string, sender: string, more: Omit<MessageContent, 'text'>]>([
    ['its sender', `${POISON}@example.com`, {}],
    ['the name of its file', PHONE, { attachments: [file(`${POISON}.txt`)] }],
  ])(
    'I10 does not keep the service from the others when %s ends it',
    { timeout: 300_000 },
    async ([, sender, more], test) => {
      const { crm, service, agent, supervised } = await setUp(cleanupOf(test), { service: endsAt(POISON) });
      await agent.say(sender, { text: 'poisonous', ...more });
      await agent.say('+14155550199', { text: 'harmless' });
      await until(() => texts(crm).includes('harmless'), WITHIN);
      await shownAsIssue(service, /^1 (message is set aside|file is stored unexamined): /);
      expect(supervised.ends).toBe(2);
    },
  );

  it('I10 is reported as failed when it is a webhook; the others go on, and the CRM can send it again', async (test) => {
    const { crm, service, supervised } = await setUp(cleanupOf(test), { service: endsAt(POISON) });
    const poison = { messageId: 'poison-1', message: POISON };
    expect(await sendUntilAnswered(crm, poison)).toMatchObject({
      status: 422,
      answer: { code: 'SET_ASIDE' },
    });
    expect(supervised.ends).toBe(2);
    expect((await sendUntilAnswered(crm, { messageId: 'harmless', message: 'Hi' })).status).toBe(200);
    await until(() => crm.accepted('harmless').length === 2, WITHIN);
    await until(() => crm.accepted('poison-1').length === 1, WITHIN);
    expect(crm.accepted('poison-1')).toEqual(['failed']);
    expect(crm.statusesOf('poison-1').at(-1)?.error).toMatchObject({ code: 'SET_ASIDE' });
    await shownAsIssue(service, /^1 message is set aside: /);
    expect(await counted(service, 'outbound')).toBe(1);

    supervised.env = {};
    await service.kill9();
    await until(() => supervised.ends === 3 && service.isRunning, WITHIN);
    await until(async () => (await redelivered(service, '/operator/messages/poison-1')) === 202, {
      ...WITHIN,
      every: 500,
    });
    expect((await sendUntilAnswered(crm, poison)).status).toBe(200);
    await until(() => crm.accepted('poison-1').at(-1) === 'delivered', WITHIN);
  }, 300_000);

  it('I10 is delivered when only a file of it does; the file is stored unexamined', async (test) => {
    const { crm, service, agent, supervised } = await setUp(cleanupOf(test), { service: endsAt(POISON) });
    const base64 = Buffer.from(`${POISON} in a file`).toString('base64');
    await agent.say(PHONE, {
      text: 'see file',
      attachments: [{ name: 'a.txt', mime: 'text/plain', base64 }],
    });
    await agent.say('+14155550199', { text: 'harmless' });
    await until(() => texts(crm).length === 2, WITHIN);
    expect(supervised.ends).toBe(2);
    const [url = ''] = crm.messages.flatMap(({ attachments }) => attachments);
    expect((await fetch(url)).headers.get('content-type')).toBe('application/octet-stream');
    await shownAsIssue(service, /^1 file is stored unexamined: /);
    expect(await counted(service, 'file')).toBe(1);
  }, 300_000);
});

describe('kill -9 from outside', () => {
  it('I10 sets no message aside', async (test) => {
    const setup = await setUp(cleanupOf(test), { service: {} });
    const { service, agent } = setup;
    await nothingIsSetAside(setup, service, {
      kills: 10,
      say: (handle, text) => agent.say(handle, { text }),
      restarted: () => service.logged('ready'),
    });
  }, 300_000);
});
