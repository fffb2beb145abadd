import { newRequestId } from '@footbridge/protocol/ids';
import { requestProblems } from '@footbridge/testkit/openapi';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { TestBridge, LOCATION } from './test-bridge.ts';
import type { TestBridgeOptions } from './test-bridge.ts';

let running: TestBridge | undefined;
afterEach(() => running?.stop());

async function start(options?: TestBridgeOptions): Promise<TestBridge> {
  running = await TestBridge.start(options);
  return running;
}

/** Sends a webhook and waits until the Mac has the message. Returns the request id. */
async function sent(bridge: TestBridge, mac: Awaited<ReturnType<TestBridge['mac']>>, messageId: string) {
  const { status, answer } = await bridge.webhook({ messageId });
  expect(status).toBe(200);
  const { requestId } = answer as { requestId: string };
  const frame = await mac.nextFrame('send');
  expect(frame).toMatchObject({ requestId, messageId });
  return requestId;
}

describe('status callbacks', () => {
  it('A1 go to PUT /conversations/messages/{messageId}/status, A2 with pending at once and A3 with delivered after the report of the Mac', async () => {
    const bridge = await start();
    const mac = await bridge.mac();
    const requestId = await sent(bridge, mac, 'msgAAAAAAAAAAAAAAAA1');
    await until(() => bridge.crm.accepted('msgAAAAAAAAAAAAAAAA1').length === 1);
    const seq = mac.status({ requestId, messageId: 'msgAAAAAAAAAAAAAAAA1', status: 'delivered' });
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
    expect(bridge.crm.accepted('msgAAAAAAAAAAAAAAAA1')).toEqual(['pending', 'delivered']);
    const calls = bridge.crm.callsTo('status');
    expect(calls.map(({ method, path, body }) => [method, path, body])).toEqual([
      ['PUT', '/conversations/messages/msgAAAAAAAAAAAAAAAA1/status', { status: 'pending' }],
      ['PUT', '/conversations/messages/msgAAAAAAAAAAAAAAAA1/status', { status: 'delivered' }],
    ]);
    expect(calls.flatMap(requestProblems)).toEqual([]);
  });

  it.each(['a/b', 'a?b#c', 'ä ö', '%2e%2e', '...', 'a\r\nb', '+1', '../../contacts/x'])(
    'A1 keep the message id %j in one segment of the path',
    async (messageId) => {
      const bridge = await start();
      await bridge.mac();
      await bridge.webhook({ messageId });
      const [call] = await until(() => {
        const calls = bridge.crm.callsTo('status');
        return calls.length > 0 && calls;
      });
      expect(call?.path.split('/')).toHaveLength(5);
      expect(call?.params['messageId']).toBe(messageId);
    },
  );

  it.each([undefined, null, '', '  ', '\t', '.', '..', 7, 'x'.repeat(257), '\ud800'])(
    'A1 are not made for the message id %j',
    async (messageId) => {
      const bridge = await start();
      const mac = await bridge.mac();
      const { status } = await bridge.webhook({ messageId });
      expect(status).toBe(200);
      const { requestId } = await mac.nextFrame('send');
      const seq = mac.status({ requestId, messageId: null, status: 'delivered' });
      expect(await mac.ack(seq)).toMatchObject({ outcome: 'skipped' });
      expect(bridge.crm.callsTo('status')).toEqual([]);
    },
  );

  it.each([
    ['false', { status: 'delivered' }],
    ['true', { status: 'delivered', messageGuid: 'guid-1' }],
  ])('A3 with STATUS_WITH_GUID=%s have the body %j for delivered', async (STATUS_WITH_GUID, body) => {
    const bridge = await start({ env: { STATUS_WITH_GUID } });
    const mac = await bridge.mac();
    const requestId = await sent(bridge, mac, 'm1');
    await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'delivered', guid: 'guid-1' }));
    const failing = await sent(bridge, mac, 'm2');
    const error = { code: 'TIMEOUT', message: 'late' };
    await mac.ack(
      mac.status({ requestId: failing, messageId: 'm2', status: 'failed', guid: 'guid-2', error }),
    );
    const bodies = bridge.crm.callsTo('status').map((call) => call.body);
    expect(bodies).toEqual([
      { status: 'pending' },
      body,
      { status: 'pending' },
      { status: 'failed', error: { ...error, type: 'error' } },
    ]);
    const { body: trail } = await bridge.operator('GET', `/operator/messages/${requestId}`);
    expect(trail).toMatchObject({ messageId: 'm1', messageGuid: 'guid-1' });
    const { body: other } = await bridge.operator('GET', `/operator/messages/${failing}`);
    expect(other).toMatchObject({ messageId: 'm2', messageGuid: 'guid-2' });
    const { body: list } = await bridge.operator('GET', '/operator/messages');
    expect(list).toMatchObject({ messages: [{ messageGuid: 'guid-2' }, { messageGuid: 'guid-1' }] });
  });

  it('A3 have the error code of the Mac verbatim for failed', async () => {
    const bridge = await start();
    const mac = await bridge.mac();
    const requestId = await sent(bridge, mac, 'm1');
    const error = { code: 'SOMETHING_NEW', message: 'Messages did not respond.' };
    await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'failed', error }));
    expect(bridge.crm.callsTo('status').at(-1)?.body).toEqual({
      status: 'failed',
      error: { code: 'SOMETHING_NEW', type: 'error', message: 'Messages did not respond.' },
    });
  });

  it('A4 arrive in order when the CRM is slow on pending and the Mac reports at once', async () => {
    const bridge = await start();
    const mac = await bridge.mac();
    bridge.crm.injectFault({ match: 'status', how: { delayMs: 200 } });
    const requestId = await sent(bridge, mac, 'm1');
    const seq = mac.status({ requestId, messageId: 'm1', status: 'delivered' });
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
    expect(bridge.crm.accepted('m1')).toEqual(['pending', 'delivered']);
    const [pending, delivered] = bridge.crm.callsTo('status');
    expect(delivered?.at).toBeGreaterThanOrEqual(pending?.answeredAt ?? Infinity);
  });

  it('A4 do not retry a failed pending once the Mac has reported, so that it never arrives late', async () => {
    const bridge = await start();
    const mac = await bridge.mac();
    bridge.crm.injectFault({ match: 'status', how: { status: 503 } });
    const requestId = await sent(bridge, mac, 'm1');
    await until(() => bridge.crm.callsTo('status').length === 1);
    const seq = mac.status({ requestId, messageId: 'm1', status: 'delivered' });
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
    await bridge.settled();
    expect(bridge.crm.statusesOf('m1').map(({ status }) => status)).toEqual(['pending', 'delivered']);
    expect(bridge.crm.accepted('m1')).toEqual(['delivered']);
  });

  it('A4 of hundreds of messages are only ever P, P·D, P·F, D or F while the CRM fails at random', async () => {
    const bridge = await start({ env: { RATE_LIMIT_CRM_CALLS: '100000' } });
    const mac = await bridge.mac();
    const faults = [{ status: 500 }, { delayMs: 60 }, { answerDelayMs: 80 }, 'reset', 'dropAnswer'] as const;
    faults.forEach((how, index) =>
      bridge.crm.injectFault({ match: 'status', how, times: 15, after: index * 60 }),
    );
    const count = 300;
    for (let index = 0; index < count; index++) {
      await bridge.webhook({ messageId: `m${index}` });
      const { requestId } = await mac.nextFrame('send');
      const failed = index % 5 === 0;
      mac.status({
        requestId,
        messageId: `m${index}`,
        status: failed ? 'failed' : 'delivered',
        ...(failed && { error: { code: 'TIMEOUT', message: 'late' } }),
      });
      if (index % 30 === 29)
        await until(() => mac.frames.filter(({ type }) => type === 'ack').length > index - 30);
    }
    await until(() => mac.frames.filter(({ type }) => type === 'ack').length === count);
    for (let index = 0; index < count; index++) {
      const seen = bridge.crm.statusesOf(`m${index}`).map(({ status }) => status);
      const distinct = seen.filter((one, at) => one !== seen[at - 1]).join(' ');
      const end = index % 5 === 0 ? 'failed' : 'delivered';
      expect([end, `pending ${end}`], `m${index}`).toContain(distinct);
    }
  });

  it('A5 ignore later reports for the same request, which are acknowledged', async () => {
    const bridge = await start();
    const mac = await bridge.mac();
    const requestId = await sent(bridge, mac, 'm1');
    await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'delivered' }));
    const error = { code: 'TIMEOUT', message: 'late' };
    expect(await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'failed', error }))).toMatchObject({
      type: 'ack',
    });
    await bridge.settled();
    expect(bridge.crm.accepted('m1')).toEqual(['pending', 'delivered']);
  });

  it('A5 ignore later reports after a restart of the service too', async () => {
    const bridge = await start();
    const mac = await bridge.mac();
    const requestId = await sent(bridge, mac, 'm1');
    await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'delivered' }));
    await bridge.restart();
    const again = await bridge.mac(LOCATION, undefined, 50);
    expect(await again.ack(again.status({ requestId, messageId: 'm1', status: 'delivered' }))).toMatchObject({
      outcome: 'delivered',
    });
    expect(bridge.crm.accepted('m1')).toEqual(['pending', 'delivered']);
    expect(bridge.crm.callsTo('message')).toEqual([]);
  });

  it('A5 are not repeated when a crash lost the journal: the CRM shows what it was told', async () => {
    const bridge = await start();
    const mac = await bridge.mac();
    const requestId = await sent(bridge, mac, 'm1');
    await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'delivered' }));
    await bridge.restart();
    bridge.rows('delete from message_steps');
    bridge.rows('delete from messages');
    await bridge.clock.skip(200_000);
    const again = await bridge.mac(LOCATION, undefined, 50);
    expect(await again.ack(again.status({ requestId, messageId: 'm1', status: 'delivered' }))).toMatchObject({
      outcome: 'delivered',
    });
    expect(bridge.crm.accepted('m1')).toEqual(['pending', 'delivered']);
    const reads = bridge.crm.callsTo('message');
    expect(reads.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /conversations/messages/m1']);
    expect(reads.flatMap(requestProblems)).toEqual([]);
  });

  it('A5 are not made for a repeated webhook whose message was reported as delivered, also after a restart', async () => {
    const bridge = await start();
    let mac = await bridge.mac();
    mac.deliverAll();
    const repeat = async () => {
      const { status } = await bridge.webhook({ messageId: 'm1' });
      const { requestId } = await mac.nextFrame('send');
      await mac.nextFrame('ack');
      return [status, requestId];
    };
    const [first] = await repeat();
    const [second] = await repeat();
    await bridge.restart();
    mac = await bridge.mac(LOCATION, undefined, mac.seq);
    mac.deliverAll();
    const [third] = await repeat();
    expect([first, second, third]).toEqual([200, 200, 200]);
    await bridge.settled();
    expect(bridge.crm.accepted('m1')).toEqual(['pending', 'delivered']);
  });

  it('A4 of simultaneous copies of a webhook are one pending and one terminal status', async () => {
    const bridge = await start();
    const mac = await bridge.mac();
    mac.deliverAll();
    const copies = await Promise.all([1, 2, 3].map(() => bridge.webhook({ messageId: 'm1' })));
    expect(copies.map(({ status }) => status)).toEqual([200, 200, 200]);
    for (const _copy of copies) expect(await mac.nextFrame('ack')).toMatchObject({ outcome: 'delivered' });
    await bridge.settled();
    expect(bridge.crm.accepted('m1')).toEqual(['pending', 'delivered']);
  });

  it('A5 have no second pending for a repeat while the first webhook is in progress, also after a restart', async () => {
    const bridge = await start();
    const mac = await bridge.mac();
    await sent(bridge, mac, 'm1');
    await until(() => bridge.crm.accepted('m1').length === 1);
    await sent(bridge, mac, 'm1');
    await bridge.restart();
    const again = await bridge.mac(LOCATION, undefined, mac.seq);
    const requestId = await sent(bridge, again, 'm1');
    await bridge.settled();
    expect(bridge.crm.accepted('m1')).toEqual(['pending']);
    await again.ack(again.status({ requestId, messageId: 'm1', status: 'delivered' }));
    expect(bridge.crm.accepted('m1')).toEqual(['pending', 'delivered']);
  });

  it('A5 start again with pending for a repeat after failed', async () => {
    const bridge = await start();
    const mac = await bridge.mac();
    const error = { code: 'TIMEOUT', message: 'late' };
    const first = await sent(bridge, mac, 'm1');
    await mac.ack(mac.status({ requestId: first, messageId: 'm1', status: 'failed', error }));
    const second = await sent(bridge, mac, 'm1');
    await until(() => bridge.crm.accepted('m1').length === 3);
    await mac.ack(mac.status({ requestId: second, messageId: 'm1', status: 'delivered' }));
    expect(bridge.crm.accepted('m1')).toEqual(['pending', 'failed', 'pending', 'delivered']);
  });

  it('A5 do not report a rejected repeat of a message that is in progress or delivered', async () => {
    const bridge = await start();
    const mac = await bridge.mac();
    const requestId = await sent(bridge, mac, 'm1');
    await until(() => bridge.crm.accepted('m1').length === 1);
    expect((await bridge.webhook({ messageId: 'm1', phone: 'unknown' })).status).toBe(400);
    await bridge.settled();
    expect(bridge.crm.statusesOf('m1').map(({ status }) => status)).toEqual(['pending']);
    await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'delivered' }));
    await mac.close();
    await until(async () => (await bridge.webhook({ messageId: 'm1' })).status === 404);
    await bridge.restart();
    expect((await bridge.webhook({ messageId: 'm1' })).status).toBe(404);
    await bridge.settled();
    expect(bridge.crm.statusesOf('m1').map(({ status }) => status)).toEqual(['pending', 'delivered']);
  });

  it('A5 treat the same message id in another location as another message', async () => {
    const bridge = await start();
    const other = 'locBBBBBBBBBBBBBBBB2';
    await bridge.authorise(other);
    const macs = [await bridge.mac(), await bridge.mac(other, 'mac-of-another')];
    for (const mac of macs) mac.deliverAll();
    for (const locationId of [LOCATION, other]) await bridge.webhook({ messageId: 'm1', locationId });
    for (const mac of macs) await mac.nextFrame('ack');
    const told = bridge.crm.statusesOf('m1').map(({ locationId, status }) => `${locationId} ${status}`);
    expect(told.toSorted()).toEqual(
      [LOCATION, other].flatMap((locationId) => [`${locationId} delivered`, `${locationId} pending`]),
    );
  });

  it('A6 are not made without OAuth, and the reason is logged once per request', async () => {
    const bridge = await start({ oauth: 'off' });
    const mac = await bridge.mac();
    const requestId = await sent(bridge, mac, 'm1');
    expect(await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'delivered' }))).toMatchObject({
      outcome: 'skipped',
    });
    expect(bridge.crm.calls).toEqual([]);
    const lines = bridge.bridge.logs.filter((line) => line.includes('oauth_not_configured'));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ requestId, reason: 'oauth_not_configured' });
  });

  it('A6 are not made without a token for the location, without a log line and with the same webhook response', async () => {
    const bridge = await start({ oauth: 'unauthorised' });
    const mac = await bridge.mac();
    const requestId = await sent(bridge, mac, 'm1');
    expect(await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'delivered' }))).toMatchObject({
      outcome: 'skipped',
    });
    expect(bridge.crm.calls).toEqual([]);
    const lines = bridge.bridge.logs.filter((line) => line.includes(requestId));
    expect(lines.map((line) => JSON.parse(line).event)).toEqual(['webhook.handled']);
  });

  it.each([
    ['MISSING_REQUIRED_FIELDS', { contactId: undefined }, 400],
    ['MESSAGE_BODY_TOO_LONG', { message: 'x'.repeat(20_001) }, 400],
    ['RECIPIENT_PHONE_INVALID', { phone: 'unknown' }, 400],
    ['CLIENT_NOT_CONNECTED', {}, 404],
  ] as const)('A7 report a request that was rejected with %s as failed', async (code, fields, status) => {
    const bridge = await start();
    const answer = await bridge.webhook({ messageId: 'm1', ...fields });
    expect(answer.status).toBe(status);
    const [call] = await until(() => {
      const calls = bridge.crm.callsTo('status');
      return calls.length > 0 && calls;
    });
    expect(call?.body).toEqual({
      status: 'failed',
      error: { code, type: 'error', message: expect.stringMatching(/\S/) },
    });
    await bridge.settled();
    expect(bridge.crm.statusesOf('m1')).toHaveLength(1);
    expect(bridge.crm.accepted('m1')).toEqual(['failed']);
  });

  it('A7 are not made for other rejections', async () => {
    const bridge = await start();
    const to = { locationId: LOCATION, messageId: 'm1' };
    const answers = [
      await bridge.crm.sendWebhook(to, { headers: { 'Content-Type': 'text/plain' } }),
      await bridge.crm.sendWebhook(to, { headers: { 'Content-Type': 'application/json-patch+json' } }),
      await bridge.crm.sendWebhook(to, { headers: { 'X-CRM-Signature': 'no' } }),
      await bridge.crm.sendWebhook({ ...to, type: 'Email' }),
    ];
    expect(answers.map(({ status, answer }) => [status, (answer as { code?: string }).code])).toEqual([
      [400, 'INVALID_CONTENT_TYPE'],
      [400, 'INVALID_REQUEST_BODY'],
      [401, undefined],
      [400, 'UNSUPPORTED_MESSAGE_TYPE'],
    ]);
    await bridge.settled();
    expect(bridge.crm.statusesOf('m1')).toEqual([]);
  });

  it('A7 are not made for a request over the limit', async () => {
    const bridge = await start({ env: { RATE_LIMIT_CRM_WEBHOOK: '1' } });
    const answers = [await bridge.webhook({ messageId: 'm1' }), await bridge.webhook({ messageId: 'm2' })];
    expect(answers.map(({ status }) => status)).toEqual([404, 429]);
    await until(() => bridge.crm.accepted('m1').length === 1);
    await bridge.settled();
    expect(bridge.crm.statusesOf('m2')).toEqual([]);
  });

  it('A7 are not made for a rejection with an unusable message id or without a token', async () => {
    const bridge = await start({ oauth: 'unauthorised' });
    expect((await bridge.webhook({ messageId: 'm1' })).status).toBe(404);
    await until(async () => (await bridge.metric('footbridge_status_put_total')) === 1, {
      what: 'the attempt that found no token',
    });
    expect(bridge.crm.calls).toEqual([]);
    await bridge.authorise(LOCATION);
    expect((await bridge.webhook({ messageId: '..' })).status).toBe(404);
    await bridge.settled();
    expect(bridge.crm.callsTo('status')).toHaveLength(1);
    expect(bridge.crm.statusesOf('m1')).toEqual([]);
  });

  it.each([
    { status: 500 },
    'hang',
    'reset',
    { status: 302, headers: { Location: 'http://127.0.0.1:1/' } },
  ] as const)('A8 do not affect the webhook when the CRM responds with %j', async (how) => {
    const bridge = await start();
    await bridge.mac();
    bridge.crm.injectFault({ match: 'status', how, times: 100 });
    const { status } = await bridge.webhook({ messageId: 'm1' });
    expect(status).toBe(200);
    expect(bridge.crm.accepted('m1')).toEqual([]);
    // Ends the hanging call, which the service would otherwise wait for when it stops.
    await bridge.crm.stop();
  });

  it('A9 stay at pending when the Mac does not report', async () => {
    const bridge = await start();
    const mac = await bridge.mac();
    await sent(bridge, mac, 'm1');
    await until(() => bridge.crm.accepted('m1').length === 1);
    mac.terminate();
    await bridge.settled();
    expect(bridge.crm.statusesOf('m1').map(({ status }) => status)).toEqual(['pending']);
  });

  it('A10 have only CLIENT_NOT_CONNECTED and the codes of rejected requests when the service itself makes them', async () => {
    const bridge = await start();
    await bridge.webhook({ messageId: 'm1' });
    await bridge.webhook({ messageId: 'm2', phone: 'x' });
    await until(() => bridge.crm.statuses.length === 2);
    const codes = bridge.crm.statuses.map(({ error }) => (error as { code: string }).code);
    expect(new Set(codes)).toEqual(new Set(['CLIENT_NOT_CONNECTED', 'RECIPIENT_PHONE_INVALID']));
  });

  it('A11 are retried while the CRM does not know its own message yet, with the same token', async () => {
    const bridge = await start({ settings: { statusWindowMs: 2500 } });
    const mac = await bridge.mac();
    const requestId = await sent(bridge, mac, bridge.crm.newMessage(LOCATION, 'm1'));
    const seq = mac.status({ requestId, messageId: 'm1', status: 'delivered' });
    const tried = () => bridge.crm.statusesOf('m1').filter(({ status }) => status === 'delivered').length;
    for (const tries of [1, 2]) {
      await until(() => tried() >= tries);
      await bridge.clock.skip(2 ** tries * 1000);
    }
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
    expect(bridge.crm.accepted('m1')).toEqual(['delivered']);
    expect(bridge.crm.callsTo('token')).toHaveLength(1);
  });

  it('A11 are retried once with a refreshed token after the old one expired', async () => {
    const bridge = await start();
    const mac = await bridge.mac();
    bridge.crm.expireTokens(LOCATION);
    const requestId = await sent(bridge, mac, 'm1');
    await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'delivered' }));
    expect(bridge.crm.accepted('m1')).toEqual(['pending', 'delivered']);
    expect(bridge.crm.callsTo('token')).toHaveLength(2);
  });

  it('A11 honour Retry-After', async () => {
    const bridge = await start();
    const mac = await bridge.mac();
    bridge.crm.injectFault({ match: 'status', how: { status: 429, retryAfter: 30 } });
    await sent(bridge, mac, 'm1');
    await until(() => bridge.crm.statusesOf('m1').length === 1);
    await bridge.clock.skip(20_000);
    await bridge.operator('GET', '/operator/grants');
    expect(bridge.crm.statusesOf('m1')).toHaveLength(1);
    await bridge.clock.skip(10_000);
    await until(() => bridge.crm.accepted('m1').length === 1);
  });

  it('A11 that the CRM rejects permanently are acknowledged as rejected, logged, and not repeated', async () => {
    const bridge = await start();
    const mac = await bridge.mac();
    const requestId = await sent(bridge, mac, 'm1');
    await until(() => bridge.crm.accepted('m1').length === 1);
    bridge.crm.injectFault({ match: 'status', how: { status: 422, body: { message: 'No' } }, times: 9 });
    const ack = await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'delivered' }));
    expect(ack).toMatchObject({ outcome: 'rejected', reason: expect.stringContaining('422') });
    bridge.crm.clearFaults();
    await bridge.settled();
    expect(bridge.crm.statusesOf('m1')).toHaveLength(2);
    expect(bridge.log).toContain('"event":"status.not_accepted"');
  });

  it('A11 with a terminal status are acknowledged only when the CRM accepted them, also after a restart', async () => {
    const bridge = await start();
    const mac = await bridge.mac();
    const requestId = await sent(bridge, mac, 'm1');
    await until(() => bridge.crm.accepted('m1').length === 1);
    const fault = bridge.crm.injectFault({ match: 'status', how: { status: 503 }, times: 1000 });
    mac.status({ requestId, messageId: 'm1', status: 'delivered' });
    await until(() => fault.hits >= 1);
    await bridge.clock.skip(1000);
    await until(() => fault.hits >= 2);
    expect(mac.frames.filter(({ type }) => type === 'ack')).toEqual([]);
    mac.terminate();
    bridge.crm.clearFaults();
    await bridge.restart();
    const again = await bridge.mac(LOCATION, undefined, mac.seq);
    const seq = again.status({ requestId, messageId: 'm1', status: 'delivered' });
    expect(await again.ack(seq)).toMatchObject({ outcome: 'delivered' });
    expect(bridge.crm.accepted('m1')).toEqual(['pending', 'delivered']);
  });

  it('A3 are not made for a request that the Mac made up about a message that the CRM does not have', async () => {
    const bridge = await start({ settings: { strictMessages: true }, env: { CRM_READ_LAG_SEC: '0' } });
    const mac = await bridge.mac();
    const requestId = newRequestId(bridge.clock.now() - 200_000);
    expect(await mac.ack(mac.status({ requestId, messageId: 'made-up', status: 'delivered' }))).toMatchObject(
      {
        outcome: 'skipped',
      },
    );
    expect(bridge.crm.callsTo('message')).toHaveLength(2);
    expect(bridge.crm.callsTo('status')).toEqual([]);
  });

  it('T32 leave the calls of a location to its messages while the Mac makes up requests', async () => {
    const bridge = await start({ settings: { strictMessages: true } });
    const mac = await bridge.mac();
    const reads = bridge.crm.injectFault({ match: 'message', how: 'hang', times: 1000 });
    for (let number = 0; number < 30; number++)
      mac.status({
        requestId: newRequestId(bridge.clock.now() - 200_000),
        messageId: `made-up-${number}`,
        status: 'delivered',
      });
    await until(() => reads.hits >= 1);
    await mac.roundTrip();
    const messageId = bridge.crm.newMessage(LOCATION);
    const requestId = await sent(bridge, mac, messageId);
    mac.status({ requestId, messageId, status: 'delivered' });
    await until(() => bridge.crm.accepted(messageId).length === 2);
    expect(reads.hits).toBe(1);
  });

  it('A3 are not made for a report about another location', async () => {
    const bridge = await start();
    const other = 'locBBBBBBBBBBBBBBBB2';
    await bridge.authorise(other);
    const mac = await bridge.mac();
    const stranger = await bridge.mac(other, 'mac-of-another');
    const requestId = await sent(bridge, mac, 'm1');
    await until(() => bridge.crm.accepted('m1').length === 1);
    const ack = await stranger.ack(stranger.status({ requestId, messageId: 'm1', status: 'delivered' }));
    expect(ack).toMatchObject({ outcome: 'rejected' });
    await bridge.settled();
    expect(bridge.crm.accepted('m1')).toEqual(['pending']);
  });
});
