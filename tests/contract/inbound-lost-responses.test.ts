import type { FaultResponse, Route } from '@footbridge/testkit/crm';
import { requestProblems } from '@footbridge/testkit/openapi';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { LOCATION, PHONE, TestBridge } from './test-bridge.ts';
import type { TestBridgeOptions } from './test-bridge.ts';

const SCOPES = [
  'conversations.readonly',
  'conversations/message.readonly',
  'conversations/message.write',
  'contacts.readonly',
  'contacts.write',
];
const DELIVERED = { outcome: 'delivered' };
/** What the CRM does is done when its response is lost: there is nothing to wait for. */
const AT_ONCE = { CRM_SETTLE_SEC: '0', CRM_READ_LAG_SEC: '0' };

let bridge: TestBridge | undefined;
afterEach(() => bridge?.stop());

async function start(options: TestBridgeOptions = {}) {
  const here = await TestBridge.start({ ...options, env: { ...AT_ONCE, ...options.env } });
  bridge = here;
  const { crm } = here;
  const contact = crm.addContact({ locationId: LOCATION, phone: PHONE });
  const mac = await here.mac();
  const texts = () => crm.messages.map(({ message }) => message);
  const reads = () => [crm.callsTo('conversations').length, crm.callsTo('messages').length];
  return { here, crm, contact, mac, texts, reads };
}

const steps = async (here: TestBridge, guid: string, step: string) =>
  (await here.journalled(guid, step)).steps.filter((one) => one.step === step);

async function authorise({ crm, url }: TestBridge, scopes: readonly string[]): Promise<void> {
  const code = crm.install({ locationId: LOCATION, scopes });
  expect((await fetch(`${url}/oauth/callback/crm?code=${code}`)).status).toBe(200);
}

describe('without a fault', () => {
  it('I9 the CRM gets no call but the search and the messages', async () => {
    const { crm, mac } = await start();
    crm.forget();
    for (const text of ['one', 'two', 'three'])
      expect(await mac.ack(mac.received({ sender: PHONE, text }))).toMatchObject(DELIVERED);
    expect(crm.calls.map(({ route }) => route)).toEqual(['duplicate', 'inbound', 'inbound', 'inbound']);
  });
});

describe('a lost response', () => {
  it('I9 a message that the conversation shows is not posted again', async () => {
    const { here, crm, mac, texts, reads } = await start();
    crm.injectFault({ match: 'inbound', how: 'dropAnswer' });
    expect(await mac.ack(mac.received({ sender: PHONE, text: 'Hi', guid: 'g1' }))).toMatchObject(DELIVERED);
    expect(texts()).toEqual(['Hi']);
    expect(reads()).toEqual([1, 1]);
    expect(await steps(here, 'g1', 'looked_up')).toMatchObject([{ detail: { result: 'found' } }]);
    expect(await here.metric('footbridge_inbound_lookups_total')).toBe(1);
    const problems = crm.calls.flatMap(requestProblems).filter((problem) => !problem.includes('rovider'));
    expect(problems).toEqual([]);
  });

  it.each(['reset', 'hang'] as const)(
    'I9 a message that two reads do not show is posted again: %s',
    async (how) => {
      const { here, crm, mac, texts, reads } = await start();
      await mac.ack(mac.received({ sender: PHONE, text: 'before' }));
      const fault = crm.injectFault({ match: 'inbound', how });
      const seq = mac.received({ sender: PHONE, text: 'Hi', guid: 'g1' });
      await until(() => fault.hits === 1);
      if (how === 'hang') await here.clock.skip(10_000);
      expect(await mac.ack(seq)).toMatchObject(DELIVERED);
      expect(texts()).toEqual(['before', 'Hi']);
      expect(reads()).toEqual([2, 2]);
      expect(await steps(here, 'g1', 'looked_up')).toMatchObject([{ detail: { result: 'absent' } }]);
    },
  );

  it.each([502, 504, 520, 524])('I9 a %d of a gateway is a lost response', async (status) => {
    const { crm, mac, texts } = await start();
    crm.injectFault({ match: 'inbound', how: { status, stored: true } });
    expect(await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }))).toMatchObject(DELIVERED);
    expect(texts()).toEqual(['Hi']);
  });

  it('I9 the reads wait until the request cannot be in flight, and the second one for the lag of the CRM', async () => {
    const { here, crm, mac, texts, reads } = await start({
      env: { CRM_SETTLE_SEC: '20', CRM_READ_LAG_SEC: '10' },
      settings: { readLagMs: 25_000 },
    });
    await here.clock.skip(30_000);
    await mac.ack(mac.received({ sender: PHONE, text: 'before' }));
    await here.clock.skip(30_000);
    crm.injectFault({ match: 'inbound', how: 'dropAnswer' });
    const seq = mac.received({ sender: PHONE, text: 'Hi', guid: 'g1' });
    await until(() => here.log.includes('inbound.delayed'));
    await here.clock.skip(19_000);
    expect(reads()).toEqual([0, 0]);
    await here.clock.skip(1000);
    await until(() => crm.callsTo('messages')[0]?.status === 200);
    expect(await here.clock.skipThrough(mac.ack(seq))).toMatchObject(DELIVERED);
    expect(reads()).toEqual([2, 2]);
    expect(texts()).toEqual(['before', 'Hi']);
  });

  it('I9 each stored message accounts for one of several with the same text', async () => {
    const { crm, mac, texts } = await start();
    crm.injectFault({ match: 'inbound', how: 'dropAnswer', times: 2, after: 1 });
    crm.injectFault({ match: 'inbound', how: 'reset', times: 2 });
    const chats = [1, 1, 2, 2, 3];
    const seqs = chats.map((id) =>
      mac.received({ sender: PHONE, text: 'ok', chat: { id, isGroup: false, recipients: [PHONE] } }),
    );
    for (const seq of seqs) expect(await mac.ack(seq)).toMatchObject(DELIVERED);
    expect(texts()).toEqual(['ok', 'ok', 'ok', 'ok', 'ok']);
  });

  it('I9 an older message with the same text is another one, whatever the difference of the clocks', async () => {
    for (const aheadMs of [-3_600_000, 3_600_000]) {
      const { here, crm, contact, mac, texts } = await start();
      crm.settings.clockAheadMs = aheadMs;
      const body = { type: 'SMS', contactId: contact.id, message: 'ok' };
      const { access_token: token } = crm.token(LOCATION);
      const headers = { Authorization: `Bearer ${token}`, Version: '2021-07-28' };
      await fetch(`${crm.url}/conversations/messages/inbound`, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
      await here.clock.skip(60_000);
      crm.injectFault({ match: 'inbound', how: 'reset' });
      expect(await mac.ack(mac.received({ sender: PHONE, text: 'ok' }))).toMatchObject(DELIVERED);
      expect(texts()).toEqual(['ok', 'ok']);
      crm.injectFault({ match: 'inbound', how: 'dropAnswer' });
      expect(await mac.ack(mac.received({ sender: PHONE, text: 'ok' }))).toMatchObject(DELIVERED);
      expect(texts()).toEqual(['ok', 'ok', 'ok']);
      await here.stop();
    }
  });

  it('I9 a contact whose creation was lost is searched for, not created again', async () => {
    for (const [how, times] of [
      ['dropAnswer', 1],
      ['reset', 2],
    ] as const) {
      const { here, crm, mac, texts } = await start({ settings: { allowDuplicates: true } });
      crm.injectFault({ match: 'upsert', how, times });
      expect(await mac.ack(mac.received({ sender: '+14155550177', text: 'Hi' }))).toMatchObject(DELIVERED);
      expect(crm.contacts.filter(({ phone }) => phone === '+14155550177')).toHaveLength(1);
      expect(crm.callsTo('upsert')).toHaveLength(how === 'dropAnswer' ? 1 : 3);
      expect(texts()).toEqual(['Hi']);
      await here.stop();
    }
  });
});

describe('a read that fails', () => {
  const foreign = { locationId: 'locBBBBBBBBBBBBBBBB2', contactId: 'c', id: 'v', conversationId: 'v' };
  const huge = { conversations: [], padding: 'x'.repeat(5 * 1024 * 1024) };
  const cases: [string, Route, FaultResponse | 'expireToken' | 'reset'][] = [
    ['malformed', 'conversations', { status: 200, body: '<html>' }],
    ['malformed', 'messages', { status: 200, body: { messages: { messages: [{ id: 'x' }] } } }],
    ['empty', 'conversations', { status: 200, body: '' }],
    ['empty', 'messages', { status: 200, body: '' }],
    ['huge', 'conversations', { status: 200, body: huge }],
    ['of another location', 'conversations', { status: 200, body: { conversations: [foreign] } }],
    ['of another location', 'messages', { status: 200, body: { messages: [foreign] } }],
    ['401', 'messages', 'expireToken'],
    ['429', 'conversations', { status: 429, retryAfter: 1 }],
    ['500', 'messages', { status: 500 }],
    ['reset', 'messages', 'reset'],
  ];
  it.each(cases)('I9 %s, of %s: repeated, and the message is neither lost nor doubled', async (...given) => {
    const [, route, how] = given;
    const { crm, mac, texts } = await start();
    const fault = crm.injectFault({ match: route, how, times: 2 });
    crm.injectFault({ match: 'inbound', how: 'dropAnswer' });
    const seq = mac.received({ sender: PHONE, text: 'Hi' });
    expect(await mac.ack(seq)).toMatchObject(DELIVERED);
    expect(texts()).toEqual(['Hi']);
    expect(fault.hits).toBe(2);
  });

  it('I9 slow: repeated after its deadline', async () => {
    const { here, crm, mac, texts } = await start();
    const fault = crm.injectFault({ match: 'messages', how: 'hang' });
    crm.injectFault({ match: 'inbound', how: 'dropAnswer' });
    const seq = mac.received({ sender: PHONE, text: 'Hi' });
    await until(() => fault.hits === 1);
    await here.clock.skip(10_000);
    expect(await mac.ack(seq)).toMatchObject(DELIVERED);
    expect(texts()).toEqual(['Hi']);
  });
});

describe('a conversation that cannot be read', () => {
  const missing = ['conversations.readonly', 'conversations/message.readonly'];

  it.each(missing)(
    'I9 without the scope %s: posted again, flagged, and the operator sees why',
    async (scope) => {
      const { here, crm, mac, texts } = await start({ oauth: 'unauthorised' });
      await authorise(
        here,
        SCOPES.filter((one) => one !== scope),
      );
      crm.injectFault({ match: 'inbound', how: 'dropAnswer' });
      const frame = { sender: PHONE, text: 'Hi', guid: 'g1' };
      expect(await mac.ack(mac.received(frame))).toMatchObject(DELIVERED);
      expect(texts()).toEqual(['Hi', 'Hi']);
      expect(await steps(here, 'g1', 'uncertain')).toMatchObject([
        { detail: { scope, reason: expect.stringContaining(`grant the scope ${scope}`) } },
      ]);
      expect(await here.metric('footbridge_inbound_lookups_total')).toBe(1);
      expect(here.log).toContain(`"scope":"${scope}"`);
    },
  );

  it('I9 INBOUND_ON_UNCERTAIN=park: kept on the Mac, and not doubled when the scope is there and it is redelivered', async () => {
    const { here, crm, mac, texts } = await start({
      oauth: 'unauthorised',
      env: { INBOUND_ON_UNCERTAIN: 'park' },
    });
    await authorise(
      here,
      SCOPES.filter((one) => !missing.includes(one)),
    );
    crm.injectFault({ match: 'inbound', how: 'dropAnswer' });
    const frame = { sender: PHONE, text: 'Hi', guid: 'g1' };
    expect(await mac.ack(mac.received(frame))).toMatchObject({
      outcome: 'rejected',
      reason: expect.stringContaining('conversations.readonly'),
    });
    const { body } = await here.operator('GET', '/operator/messages?status=undeliverable');
    expect(body['messages']).toMatchObject([{ messageId: 'g1', code: 'UNCERTAIN' }]);
    await authorise(here, SCOPES);
    expect(await mac.ack(mac.received(frame))).toMatchObject(DELIVERED);
    expect(texts()).toEqual(['Hi']);
  });

  it('I9 forbidden: INBOUND_ON_UNCERTAIN decides at once', async () => {
    const { crm, mac, texts, reads } = await start({ env: { INBOUND_ON_UNCERTAIN: 'park' } });
    crm.injectFault({ match: 'conversations', how: { status: 403, body: { message: 'not for you' } } });
    crm.injectFault({ match: 'inbound', how: 'dropAnswer' });
    expect(await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }))).toMatchObject({ outcome: 'rejected' });
    expect(texts()).toEqual(['Hi']);
    expect(reads()).toEqual([1, 0]);
  });
});
