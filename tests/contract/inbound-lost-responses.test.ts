import type { FaultResponse, Route, TextChange } from '@footbridge/testkit/crm';
import { requestProblems } from '@footbridge/testkit/openapi';
import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';
import type { TestContext } from 'vitest';

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
/** This CRM has finished a request when its response is lost, so no wait is needed. */
const NO_WAIT = { CRM_SETTLE_SEC: '0', CRM_READ_LAG_SEC: '0' };

async function start(
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  options: TestBridgeOptions = {},
) {
  const bridge = await TestBridge.start({ ...options, env: { ...NO_WAIT, ...options.env } });
  onTestFinished(() => bridge.stop());
  const { crm } = bridge;
  const contact = crm.addContact({ locationId: LOCATION, phone: PHONE });
  const mac = await bridge.mac();
  const texts = () => crm.messages.map(({ message }) => message);
  const reads = () => [crm.callsTo('conversations').length, crm.callsTo('messages').length];
  return { bridge, crm, contact, mac, texts, reads };
}

const steps = async (bridge: TestBridge, guid: string, step: string) =>
  (await bridge.journalled(guid, step)).steps.filter((one) => one.step === step);

async function issuesOf(bridge: TestBridge): Promise<unknown[] | undefined> {
  await bridge.clock.skip(15_000);
  const issues = (await bridge.operator('GET', '/operator/issues')).body['issues'] as unknown[];
  return issues.length === 0 ? undefined : issues;
}

async function authorise({ crm, url }: TestBridge, scopes: readonly string[]): Promise<void> {
  const code = crm.install({ locationId: LOCATION, scopes });
  expect((await fetch(`${url}/oauth/callback/crm?code=${code}`)).status).toBe(200);
}

// Each test spends most of its time in the pauses between attempts.
describe.concurrent('without a fault', () => {
  it('I9 the CRM gets no calls other than the contact search and the messages', async (test) => {
    const { crm, mac } = await start(test);
    crm.forget();
    for (const text of ['one', 'two', 'three'])
      expect(await mac.ack(mac.received({ sender: PHONE, text }))).toMatchObject(DELIVERED);
    expect(crm.calls.map(({ route }) => route)).toEqual(['duplicate', 'inbound', 'inbound', 'inbound']);
  });
});

describe.concurrent('a lost response', () => {
  it('I9 a message that is in the conversation is not posted again', async (test) => {
    const { bridge, crm, mac, texts, reads } = await start(test);
    crm.injectFault({ match: 'inbound', how: 'dropAnswer' });
    expect(await mac.ack(mac.received({ sender: PHONE, text: 'Hi', guid: 'g1' }))).toMatchObject(DELIVERED);
    expect(texts()).toEqual(['Hi']);
    expect(reads()).toEqual([1, 1]);
    expect(await steps(bridge, 'g1', 'looked_up')).toMatchObject([{ detail: { result: 'found' } }]);
    expect(await bridge.metric('footbridge_inbound_lookups_total')).toBe(1);
    const problems = crm.calls.flatMap(requestProblems).filter((problem) => !problem.includes('rovider'));
    expect(problems).toEqual([]);
  });

  it.for(['reset', 'hang'] as const)(
    'I9 a message that two reads do not find is posted again: %s',
    async (how, test) => {
      const { bridge, crm, mac, texts, reads } = await start(test);
      await mac.ack(mac.received({ sender: PHONE, text: 'before' }));
      const fault = crm.injectFault({ match: 'inbound', how });
      const seq = mac.received({ sender: PHONE, text: 'Hi', guid: 'g1' });
      await until(() => fault.hits === 1);
      if (how === 'hang') await bridge.clock.skip(10_000);
      expect(await mac.ack(seq)).toMatchObject(DELIVERED);
      expect(texts()).toEqual(['before', 'Hi']);
      expect(reads()).toEqual([2, 2]);
      expect(await steps(bridge, 'g1', 'looked_up')).toMatchObject([{ detail: { result: 'absent' } }]);
    },
  );

  it.for([408, 500, 502, 503, 504, 520, 522, 524])(
    'I9 a %d counts as a lost response, since the message may be stored',
    async (status, test) => {
      const { crm, mac, texts } = await start(test);
      crm.injectFault({ match: 'inbound', how: { status, stored: true } });
      expect(await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }))).toMatchObject(DELIVERED);
      expect(texts()).toEqual(['Hi']);
    },
  );

  const altered: [TextChange, string, string][] = [
    ['trimmed', '  Hi \n', 'Hi'],
    ['lines trimmed', 'one  \ntwo\t\nthree', 'one\ntwo\nthree'],
    ['with LF for CRLF', 'one\r\ntwo', 'one\ntwo'],
    ['in NFC', 'cafe\u0301', 'caf\u00E9'],
  ];
  it.for(altered)(
    'I9 a message that the CRM stored %s is recognised',
    async ([storesText, text, stored], test) => {
      const { crm, mac, texts } = await start(test, { settings: { storesText } });
      crm.injectFault({ match: 'inbound', how: 'dropAnswer', times: 2 });
      const group = { id: 9, isGroup: true, recipients: [PHONE, '+14155550109'] };
      expect(await mac.ack(mac.received({ sender: PHONE, text }))).toMatchObject(DELIVERED);
      expect(await mac.ack(mac.received({ sender: PHONE, text, chat: group }))).toMatchObject(DELIVERED);
      expect(texts()).toEqual([stored, expect.stringContaining('svc-metadata')]);
    },
  );

  it.for([-7_200_000, 7_200_000])(
    'I9 a message is recognised when the clock of the CRM is %d ms ahead and its responses have no Date header',
    async (clockAheadMs, test) => {
      const { crm, mac, texts } = await start(test, { settings: { clockAheadMs, sendsDate: false } });
      crm.injectFault({ match: 'inbound', how: 'dropAnswer', times: 2 });
      for (const text of ['first', 'second'])
        expect(await mac.ack(mac.received({ sender: PHONE, text }))).toMatchObject(DELIVERED);
      expect(texts()).toEqual(['first', 'second']);
    },
  );

  it('I9 a success without a message id counts as a lost response', async (test) => {
    const { crm, mac, texts } = await start(test);
    crm.injectFault({ match: 'inbound', how: { status: 201, body: '', stored: true } });
    expect(await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }))).toMatchObject(DELIVERED);
    expect(texts()).toEqual(['Hi']);
  });

  it('I9 the reads wait until the request cannot be in flight, and the second one for the lag of the CRM', async (test) => {
    const { bridge, crm, mac, texts, reads } = await start(test, {
      stoppedClock: true,
      env: { CRM_SETTLE_SEC: '100', CRM_READ_LAG_SEC: '10' },
      settings: { readLagMs: 105_000 },
    });
    await bridge.clock.skip(110_000);
    await mac.ack(mac.received({ sender: PHONE, text: 'before' }));
    await bridge.clock.skip(110_000);
    crm.injectFault({ match: 'inbound', how: 'dropAnswer' });
    const seq = mac.received({ sender: PHONE, text: 'Hi', guid: 'g1' });
    await until(() => bridge.log.includes('inbound.delayed'));
    await bridge.clock.skip(99_000);
    expect(reads()).toEqual([0, 0]);
    await bridge.clock.skip(1000);
    await until(() => crm.callsTo('messages')[0]?.status === 200);
    expect(await bridge.clock.skipThrough(mac.ack(seq))).toMatchObject(DELIVERED);
    expect(reads()).toEqual([2, 2]);
    expect(texts()).toEqual(['before', 'Hi']);
  });

  it('I9 of several messages with the same text, each stored one accounts for one', async (test) => {
    const { crm, mac, texts } = await start(test);
    crm.injectFault({ match: 'inbound', how: 'dropAnswer', times: 2, after: 1 });
    crm.injectFault({ match: 'inbound', how: 'reset', times: 2 });
    const chats = [1, 1, 2, 2, 3];
    const seqs = chats.map((id) =>
      mac.received({ sender: PHONE, text: 'ok', chat: { id, isGroup: false, recipients: [PHONE] } }),
    );
    for (const seq of seqs) expect(await mac.ack(seq)).toMatchObject(DELIVERED);
    expect(texts()).toEqual(['ok', 'ok', 'ok', 'ok', 'ok']);
  });

  it.for([-3_600_000, 3_600_000])(
    'I9 an older message with the same text is a different one when the clock of the CRM is %d ms ahead',
    async (aheadMs, test) => {
      const { bridge, crm, contact, mac, texts } = await start(test);
      crm.settings.clockAheadMs = aheadMs;
      const body = { type: 'SMS', contactId: contact.id, message: 'ok' };
      const { access_token: token } = crm.token(LOCATION);
      const headers = { Authorization: `Bearer ${token}`, Version: '2021-07-28' };
      await fetch(`${crm.url}/conversations/messages/inbound`, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
      await bridge.clock.skip(60_000);
      crm.injectFault({ match: 'inbound', how: 'reset' });
      expect(await mac.ack(mac.received({ sender: PHONE, text: 'ok' }))).toMatchObject(DELIVERED);
      expect(texts()).toEqual(['ok', 'ok']);
      crm.injectFault({ match: 'inbound', how: 'dropAnswer' });
      expect(await mac.ack(mac.received({ sender: PHONE, text: 'ok' }))).toMatchObject(DELIVERED);
      expect(texts()).toEqual(['ok', 'ok', 'ok']);
    },
  );

  it.for([
    ['dropAnswer', 1, 1],
    [{ status: 500, stored: true }, 1, 1],
    ['reset', 2, 3],
  ] as const)(
    'I9 a contact whose creation lost its response is searched for, not created again: %o',
    async ([how, times, calls], test) => {
      const { crm, mac, texts } = await start(test, { settings: { allowDuplicates: true } });
      crm.injectFault({ match: 'upsert', how, times });
      expect(await mac.ack(mac.received({ sender: '+14155550177', text: 'Hi' }))).toMatchObject(DELIVERED);
      expect(crm.contacts.filter(({ phone }) => phone === '+14155550177')).toHaveLength(1);
      expect(crm.callsTo('upsert')).toHaveLength(calls);
      expect(texts()).toEqual(['Hi']);
    },
  );
});

describe.concurrent('a read that fails', () => {
  const foreign = { locationId: 'locBBBBBBBBBBBBBBBB2', contactId: 'c', id: 'v', conversationId: 'v' };
  const huge = { conversations: [], padding: 'x'.repeat(5 * 1024 * 1024) };
  const cases: [string, Route, FaultResponse | 'expireToken' | 'reset'][] = [
    ['a malformed response', 'conversations', { status: 200, body: '<html>' }],
    ['a malformed response', 'messages', { status: 200, body: { messages: { messages: [{ id: 'x' }] } } }],
    ['an empty response', 'conversations', { status: 200, body: '' }],
    ['an empty response', 'messages', { status: 200, body: '' }],
    ['an oversized response', 'conversations', { status: 200, body: huge }],
    ['an oversized response', 'messages', { status: 200, body: { ...huge, messages: [] } }],
    ['data of another location', 'conversations', { status: 200, body: { conversations: [foreign] } }],
    ['data of another location', 'messages', { status: 200, body: { messages: [foreign] } }],
    ['status 401', 'conversations', 'expireToken'],
    ['status 401', 'messages', 'expireToken'],
    ['status 429', 'conversations', { status: 429, retryAfter: 1 }],
    ['status 429', 'messages', { status: 429, retryAfter: 1 }],
    ['status 500', 'messages', { status: 500 }],
    ['a reset', 'messages', 'reset'],
  ];
  it.for(cases)(
    'I9 with %s for the %s is repeated, and the message is neither lost nor duplicated',
    async ([, route, how], test) => {
      const { crm, mac, texts } = await start(test);
      const fault = crm.injectFault({ match: route, how, times: 2 });
      crm.injectFault({ match: 'inbound', how: 'dropAnswer' });
      const seq = mac.received({ sender: PHONE, text: 'Hi' });
      expect(await mac.ack(seq)).toMatchObject(DELIVERED);
      expect(texts()).toEqual(['Hi']);
      expect(fault.hits).toBe(2);
    },
  );

  it('I9 slowly is waited for', async (test) => {
    const { crm, mac, texts, reads } = await start(test);
    crm.injectFault({ match: 'conversations', how: { answerDelayMs: 300 } });
    crm.injectFault({ match: 'messages', how: { slowBodyMs: 300 } });
    crm.injectFault({ match: 'inbound', how: 'dropAnswer' });
    expect(await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }))).toMatchObject(DELIVERED);
    expect(texts()).toEqual(['Hi']);
    expect(reads()).toEqual([1, 1]);
  });

  it('I9 by timeout is repeated', async (test) => {
    const { bridge, crm, mac, texts } = await start(test);
    const fault = crm.injectFault({ match: 'messages', how: 'hang' });
    crm.injectFault({ match: 'inbound', how: 'dropAnswer' });
    const seq = mac.received({ sender: PHONE, text: 'Hi' });
    await until(() => fault.hits === 1);
    await bridge.clock.skip(10_000);
    expect(await mac.ack(seq)).toMatchObject(DELIVERED);
    expect(texts()).toEqual(['Hi']);
  });
});

describe.concurrent('a conversation that cannot be read', () => {
  const missing = ['conversations.readonly', 'conversations/message.readonly'];

  it.for(missing)(
    'I9 for lack of the scope %s has its message posted again and flagged with the reason',
    async (scope, test) => {
      const { bridge, crm, mac, texts } = await start(test, { oauth: 'unauthorised' });
      await authorise(
        bridge,
        SCOPES.filter((one) => one !== scope),
      );
      crm.injectFault({ match: 'inbound', how: 'dropAnswer' });
      const frame = { sender: PHONE, text: 'Hi', guid: 'g1' };
      expect(await mac.ack(mac.received(frame))).toMatchObject(DELIVERED);
      expect(texts()).toEqual(['Hi', 'Hi']);
      expect(await steps(bridge, 'g1', 'uncertain')).toMatchObject([
        { detail: { scope, reason: expect.stringContaining(`grant the scope ${scope}`) } },
      ]);
      expect(await bridge.metric('footbridge_inbound_lookups_total')).toBe(1);
      expect(bridge.log).toContain(`"scope":"${scope}"`);
      const flagged = async () =>
        (await bridge.operator('GET', '/operator/messages?code=UNCERTAIN')).body['messages'];
      expect(await flagged()).toMatchObject([{ messageId: 'g1', status: 'delivered' }]);
      expect((await until(() => issuesOf(bridge)))[0]).toMatchObject({
        kind: 'deliveries_uncertain',
        sentence: expect.stringContaining('may have 1 inbound message twice'),
      });
      // The acknowledgement was lost too: the Mac sends it again.
      expect(await mac.ack(mac.received(frame))).toMatchObject(DELIVERED);
      expect(await flagged()).toMatchObject([{ messageId: 'g1', status: 'delivered' }]);
    },
  );

  it('I9 with INBOUND_ON_UNCERTAIN=park leaves its message on the Mac, and a redelivery with the scope does not duplicate it', async (test) => {
    const { bridge, crm, mac, texts } = await start(test, {
      oauth: 'unauthorised',
      env: { INBOUND_ON_UNCERTAIN: 'park' },
    });
    await authorise(
      bridge,
      SCOPES.filter((one) => !missing.includes(one)),
    );
    crm.injectFault({ match: 'inbound', how: 'dropAnswer' });
    const frame = { sender: PHONE, text: 'Hi', guid: 'g1' };
    expect(await mac.ack(mac.received(frame))).toMatchObject({
      outcome: 'rejected',
      reason: expect.stringContaining('conversations.readonly'),
    });
    const { body } = await bridge.operator('GET', '/operator/messages?status=undeliverable');
    expect(body['messages']).toMatchObject([{ messageId: 'g1', code: 'UNCERTAIN' }]);
    await authorise(bridge, SCOPES);
    expect(await mac.ack(mac.received(frame))).toMatchObject(DELIVERED);
    expect(texts()).toEqual(['Hi']);
  });

  it.for([
    ['conversations', 'conversations.readonly', [1, 0]],
    ['messages', 'conversations/message.readonly', [1, 1]],
  ] as const)(
    'I9 because the CRM forbids the %s applies INBOUND_ON_UNCERTAIN at once and names the scope %s',
    async ([match, scope, expected], test) => {
      const { bridge, crm, mac, texts, reads } = await start(test, { env: { INBOUND_ON_UNCERTAIN: 'park' } });
      crm.injectFault({ match, how: { status: 403, body: { message: 'not for you' } } });
      crm.injectFault({ match: 'inbound', how: 'dropAnswer' });
      const seq = mac.received({ sender: PHONE, text: 'Hi', guid: 'g1' });
      expect(await mac.ack(seq)).toMatchObject({ outcome: 'rejected' });
      expect(texts()).toEqual(['Hi']);
      expect(reads()).toEqual(expected);
      expect(await steps(bridge, 'g1', 'uncertain')).toMatchObject([
        { detail: { scope, reason: expect.stringContaining(`grant the scope ${scope}`) } },
      ]);
    },
  );
});
