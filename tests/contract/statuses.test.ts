import { requestProblems } from '@footbridge/testkit/openapi';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { TestBridge, LOCATION } from './test-bridge.ts';
import type { TestBridgeOptions } from './test-bridge.ts';

let world: TestBridge | undefined;
afterEach(() => world?.stop());

async function start(options?: TestBridgeOptions): Promise<TestBridge> {
  world = await TestBridge.start(options);
  return world;
}

/** One message on its way: the CRM sent it, the Mac has it. */
async function sent(here: TestBridge, mac: Awaited<ReturnType<TestBridge['mac']>>, messageId: string) {
  const { status, answer } = await here.webhook({ messageId });
  expect(status).toBe(200);
  const { requestId } = answer as { requestId: string };
  const frame = await mac.nextFrame('send');
  expect(frame).toMatchObject({ requestId, messageId });
  return requestId;
}

describe('status callbacks', () => {
  it('A1 go to PUT /conversations/messages/{messageId}/status, A2 pending at once, A3 delivered when the Mac says so', async () => {
    const here = await start();
    const mac = await here.mac();
    const requestId = await sent(here, mac, 'msgAAAAAAAAAAAAAAAA1');
    await until(() => here.crm.accepted('msgAAAAAAAAAAAAAAAA1').length === 1);
    const seq = mac.status({ requestId, messageId: 'msgAAAAAAAAAAAAAAAA1', status: 'delivered' });
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
    expect(here.crm.accepted('msgAAAAAAAAAAAAAAAA1')).toEqual(['pending', 'delivered']);
    const calls = here.crm.callsTo('status');
    expect(calls.map(({ method, path, body }) => [method, path, body])).toEqual([
      ['PUT', '/conversations/messages/msgAAAAAAAAAAAAAAAA1/status', { status: 'pending' }],
      ['PUT', '/conversations/messages/msgAAAAAAAAAAAAAAAA1/status', { status: 'delivered' }],
    ]);
    expect(calls.flatMap(requestProblems)).toEqual([]);
  });

  it.each(['a/b', 'a?b#c', 'ä ö', '%2e%2e', '...', 'a\r\nb', '+1', '../../contacts/x'])(
    'A1 a message id like %j stays one segment of the path',
    async (messageId) => {
      const here = await start();
      await here.mac();
      await here.webhook({ messageId });
      const [call] = await until(() => {
        const calls = here.crm.callsTo('status');
        return calls.length > 0 && calls;
      });
      expect(call?.path.split('/')).toHaveLength(5);
      expect(call?.params['messageId']).toBe(messageId);
    },
  );

  it.each([undefined, null, '', '  ', '\t', '.', '..', 7, 'x'.repeat(257), '\ud800'])(
    'A1 no call is made for the message id %j',
    async (messageId) => {
      const here = await start();
      const mac = await here.mac();
      const { status } = await here.webhook({ messageId });
      expect(status).toBe(200);
      const { requestId } = await mac.nextFrame('send');
      const seq = mac.status({ requestId, messageId: null, status: 'delivered' });
      expect(await mac.ack(seq)).toMatchObject({ outcome: 'skipped' });
      expect(here.crm.callsTo('status')).toEqual([]);
    },
  );

  it.each([
    ['false', { status: 'delivered' }],
    ['true', { status: 'delivered', messageGuid: 'guid-1' }],
  ])('A3 with STATUS_WITH_GUID=%s the body of delivered is %j', async (STATUS_WITH_GUID, body) => {
    const here = await start({ env: { STATUS_WITH_GUID } });
    const mac = await here.mac();
    const requestId = await sent(here, mac, 'm1');
    await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'delivered', guid: 'guid-1' }));
    const failing = await sent(here, mac, 'm2');
    const error = { code: 'TIMEOUT', message: 'late' };
    await mac.ack(
      mac.status({ requestId: failing, messageId: 'm2', status: 'failed', guid: 'guid-2', error }),
    );
    const bodies = here.crm.callsTo('status').map((call) => call.body);
    expect(bodies).toEqual([
      { status: 'pending' },
      body,
      { status: 'pending' },
      { status: 'failed', error: { ...error, type: 'error' } },
    ]);
    const { body: trail } = await here.operator('GET', `/operator/messages/${requestId}`);
    expect(trail).toMatchObject({ messageId: 'm1', messageGuid: 'guid-1' });
    const { body: other } = await here.operator('GET', `/operator/messages/${failing}`);
    expect(other).toMatchObject({ messageId: 'm2', messageGuid: 'guid-2' });
  });

  it('A3 failed carries the code of the Mac verbatim', async () => {
    const here = await start();
    const mac = await here.mac();
    const requestId = await sent(here, mac, 'm1');
    const error = { code: 'SOMETHING_NEW', message: 'Messages did not want to.' };
    await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'failed', error }));
    expect(here.crm.callsTo('status').at(-1)?.body).toEqual({
      status: 'failed',
      error: { code: 'SOMETHING_NEW', type: 'error', message: 'Messages did not want to.' },
    });
  });

  it('A4 the order holds when the CRM is slow with pending and the Mac is not', async () => {
    const here = await start();
    const mac = await here.mac();
    here.crm.injectFault({ match: 'status', how: { delayMs: 200 } });
    const requestId = await sent(here, mac, 'm1');
    const seq = mac.status({ requestId, messageId: 'm1', status: 'delivered' });
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
    expect(here.crm.accepted('m1')).toEqual(['pending', 'delivered']);
    const [pending, delivered] = here.crm.callsTo('status');
    expect(delivered?.at).toBeGreaterThanOrEqual(pending?.answeredAt ?? Infinity);
  });

  it('A4 a pending that fails is given up when the Mac has spoken, and never comes late', async () => {
    const here = await start();
    const mac = await here.mac();
    here.crm.injectFault({ match: 'status', how: { status: 503 } });
    const requestId = await sent(here, mac, 'm1');
    await until(() => here.crm.callsTo('status').length === 1);
    const seq = mac.status({ requestId, messageId: 'm1', status: 'delivered' });
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
    await here.settled();
    expect(here.crm.statusesOf('m1').map(({ status }) => status)).toEqual(['pending', 'delivered']);
    expect(here.crm.accepted('m1')).toEqual(['delivered']);
  });

  it('A4 hundreds of messages with a moody CRM: never anything but P, P·D, P·F, D or F', async () => {
    const here = await start({ env: { RATE_LIMIT_CRM_CALLS: '100000' } });
    const mac = await here.mac();
    const faults = [{ status: 500 }, { delayMs: 60 }, { answerDelayMs: 80 }, 'reset', 'dropAnswer'] as const;
    faults.forEach((how, index) =>
      here.crm.injectFault({ match: 'status', how, times: 15, after: index * 60 }),
    );
    const count = 300;
    for (let index = 0; index < count; index++) {
      await here.webhook({ messageId: `m${index}` });
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
      const seen = here.crm.statusesOf(`m${index}`).map(({ status }) => status);
      const distinct = seen.filter((one, at) => one !== seen[at - 1]).join(' ');
      const end = index % 5 === 0 ? 'failed' : 'delivered';
      expect([end, `pending ${end}`], `m${index}`).toContain(distinct);
    }
  });

  it('A5 later frames for the same request are acknowledged and dropped', async () => {
    const here = await start();
    const mac = await here.mac();
    const requestId = await sent(here, mac, 'm1');
    await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'delivered' }));
    const error = { code: 'TIMEOUT', message: 'late' };
    expect(await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'failed', error }))).toMatchObject({
      type: 'ack',
    });
    await here.settled();
    expect(here.crm.accepted('m1')).toEqual(['pending', 'delivered']);
  });

  it('A5 also after a restart of the service', async () => {
    const here = await start();
    const mac = await here.mac();
    const requestId = await sent(here, mac, 'm1');
    await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'delivered' }));
    await here.restart();
    const again = await here.mac(LOCATION, undefined, 50);
    expect(await again.ack(again.status({ requestId, messageId: 'm1', status: 'delivered' }))).toMatchObject({
      outcome: 'delivered',
    });
    expect(here.crm.accepted('m1')).toEqual(['pending', 'delivered']);
  });

  it('A5 a repeated webhook that was reported as delivered gets its 200 and no callback, also after a restart', async () => {
    const here = await start();
    let mac = await here.mac();
    mac.deliverAll();
    const repeat = async () => {
      const { status } = await here.webhook({ messageId: 'm1' });
      const { requestId } = await mac.nextFrame('send');
      await mac.nextFrame('ack');
      return [status, requestId];
    };
    const [first] = await repeat();
    const [second] = await repeat();
    await here.restart();
    mac = await here.mac(LOCATION, undefined, mac.seq);
    mac.deliverAll();
    const [third] = await repeat();
    expect([first, second, third]).toEqual([200, 200, 200]);
    await here.settled();
    expect(here.crm.accepted('m1')).toEqual(['pending', 'delivered']);
  });

  it('A4 copies of a webhook at once get one pending and one terminal status', async () => {
    const here = await start();
    const mac = await here.mac();
    mac.deliverAll();
    const copies = await Promise.all([1, 2, 3].map(() => here.webhook({ messageId: 'm1' })));
    expect(copies.map(({ status }) => status)).toEqual([200, 200, 200]);
    for (const _copy of copies) expect(await mac.nextFrame('ack')).toMatchObject({ outcome: 'delivered' });
    await here.settled();
    expect(here.crm.accepted('m1')).toEqual(['pending', 'delivered']);
  });

  it('A5 a repeat while the first webhook is under way adds no second pending, also after a restart', async () => {
    const here = await start();
    const mac = await here.mac();
    await sent(here, mac, 'm1');
    await until(() => here.crm.accepted('m1').length === 1);
    await sent(here, mac, 'm1');
    await here.restart();
    const again = await here.mac(LOCATION, undefined, mac.seq);
    const requestId = await sent(here, again, 'm1');
    await here.settled();
    expect(here.crm.accepted('m1')).toEqual(['pending']);
    await again.ack(again.status({ requestId, messageId: 'm1', status: 'delivered' }));
    expect(here.crm.accepted('m1')).toEqual(['pending', 'delivered']);
  });

  it('A5 a repeat after failed is a new attempt with its own pending and terminal status', async () => {
    const here = await start();
    const mac = await here.mac();
    const error = { code: 'TIMEOUT', message: 'late' };
    const first = await sent(here, mac, 'm1');
    await mac.ack(mac.status({ requestId: first, messageId: 'm1', status: 'failed', error }));
    const second = await sent(here, mac, 'm1');
    await until(() => here.crm.accepted('m1').length === 3);
    await mac.ack(mac.status({ requestId: second, messageId: 'm1', status: 'delivered' }));
    expect(here.crm.accepted('m1')).toEqual(['pending', 'failed', 'pending', 'delivered']);
  });

  it('A5 a repeat that is rejected changes nothing for a message that is under way or delivered', async () => {
    const here = await start();
    const mac = await here.mac();
    const requestId = await sent(here, mac, 'm1');
    await until(() => here.crm.accepted('m1').length === 1);
    expect((await here.webhook({ messageId: 'm1', phone: 'unknown' })).status).toBe(400);
    await here.settled();
    expect(here.crm.statusesOf('m1').map(({ status }) => status)).toEqual(['pending']);
    await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'delivered' }));
    await mac.close();
    await until(async () => (await here.webhook({ messageId: 'm1' })).status === 404);
    await here.restart();
    expect((await here.webhook({ messageId: 'm1' })).status).toBe(404);
    await here.settled();
    expect(here.crm.statusesOf('m1').map(({ status }) => status)).toEqual(['pending', 'delivered']);
  });

  it('A5 the same message id in another location is another message', async () => {
    const here = await start();
    const other = 'locBBBBBBBBBBBBBBBB2';
    await here.authorise(other);
    const macs = [await here.mac(), await here.mac(other, 'mac-of-another')];
    for (const mac of macs) mac.deliverAll();
    for (const locationId of [LOCATION, other]) await here.webhook({ messageId: 'm1', locationId });
    for (const mac of macs) await mac.nextFrame('ack');
    const told = here.crm.statusesOf('m1').map(({ locationId, status }) => `${locationId} ${status}`);
    expect(told.toSorted()).toEqual(
      [LOCATION, other].flatMap((locationId) => [`${locationId} delivered`, `${locationId} pending`]),
    );
  });

  it('A6 nothing is sent without OAuth; the reason is logged once per request', async () => {
    const here = await start({ oauth: 'off' });
    const mac = await here.mac();
    const requestId = await sent(here, mac, 'm1');
    expect(await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'delivered' }))).toMatchObject({
      outcome: 'skipped',
    });
    expect(here.crm.calls).toEqual([]);
    const lines = here.bridge.logs.filter((line) => line.includes('oauth_not_configured'));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ requestId, reason: 'oauth_not_configured' });
  });

  it('A6 nothing is sent without a token for the location, silently; the webhook answer is the same', async () => {
    const here = await start({ oauth: 'unauthorised' });
    const mac = await here.mac();
    const requestId = await sent(here, mac, 'm1');
    expect(await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'delivered' }))).toMatchObject({
      outcome: 'skipped',
    });
    expect(here.crm.calls).toEqual([]);
    const lines = here.bridge.logs.filter((line) => line.includes(requestId));
    expect(lines.map((line) => JSON.parse(line).event)).toEqual(['webhook.handled']);
  });

  it.each([
    ['MISSING_REQUIRED_FIELDS', { contactId: undefined }, 400],
    ['MESSAGE_BODY_TOO_LONG', { message: 'x'.repeat(20_001) }, 400],
    ['RECIPIENT_PHONE_INVALID', { phone: 'unknown' }, 400],
    ['CLIENT_NOT_CONNECTED', {}, 404],
  ] as const)('A7 a request refused as %s fails in the CRM too', async (code, fields, status) => {
    const here = await start();
    const answer = await here.webhook({ messageId: 'm1', ...fields });
    expect(answer.status).toBe(status);
    const [call] = await until(() => {
      const calls = here.crm.callsTo('status');
      return calls.length > 0 && calls;
    });
    expect(call?.body).toEqual({
      status: 'failed',
      error: { code, type: 'error', message: expect.stringMatching(/\S/) },
    });
    await here.settled();
    expect(here.crm.statusesOf('m1')).toHaveLength(1);
    expect(here.crm.accepted('m1')).toEqual(['failed']);
  });

  it('A7 other refusals say nothing', async () => {
    const here = await start();
    const to = { locationId: LOCATION, messageId: 'm1' };
    const answers = [
      await here.crm.sendWebhook(to, { headers: { 'Content-Type': 'text/plain' } }),
      await here.crm.sendWebhook(to, { headers: { 'Content-Type': 'application/json-patch+json' } }),
      await here.crm.sendWebhook(to, { headers: { 'X-CRM-Signature': 'no' } }),
      await here.crm.sendWebhook({ ...to, type: 'Email' }),
    ];
    expect(answers.map(({ status, answer }) => [status, (answer as { code?: string }).code])).toEqual([
      [400, 'INVALID_CONTENT_TYPE'],
      [400, 'INVALID_REQUEST_BODY'],
      [401, undefined],
      [400, 'UNSUPPORTED_MESSAGE_TYPE'],
    ]);
    await here.settled();
    expect(here.crm.statusesOf('m1')).toEqual([]);
  });

  it('A7 a request over the limit says nothing', async () => {
    const here = await start({ env: { RATE_LIMIT_CRM_WEBHOOK: '1' } });
    const answers = [await here.webhook({ messageId: 'm1' }), await here.webhook({ messageId: 'm2' })];
    expect(answers.map(({ status }) => status)).toEqual([404, 429]);
    await until(() => here.crm.accepted('m1').length === 1);
    await here.settled();
    expect(here.crm.statusesOf('m2')).toEqual([]);
  });

  it('A7 nothing for an unusable message id or without a token', async () => {
    const here = await start({ oauth: 'unauthorised' });
    expect((await here.webhook({ messageId: 'm1' })).status).toBe(404);
    await until(async () => (await here.metric('footbridge_status_put_total')) === 1, {
      what: 'the attempt that found no token',
    });
    expect(here.crm.calls).toEqual([]);
    await here.authorise(LOCATION);
    expect((await here.webhook({ messageId: '..' })).status).toBe(404);
    await here.settled();
    expect(here.crm.callsTo('status')).toHaveLength(1);
    expect(here.crm.statusesOf('m1')).toEqual([]);
  });

  it.each([
    { status: 500 },
    'hang',
    'reset',
    { status: 302, headers: { Location: 'http://127.0.0.1:1/' } },
  ] as const)('A8 a CRM that answers %j changes nothing for the webhook', async (how) => {
    const here = await start();
    await here.mac();
    here.crm.injectFault({ match: 'status', how, times: 100 });
    const { status } = await here.webhook({ messageId: 'm1' });
    expect(status).toBe(200);
    expect(here.crm.accepted('m1')).toEqual([]);
    // Ends the call that hangs, which the service would wait for when it stops.
    await here.crm.stop();
  });

  it('A9 a silent Mac leaves the message pending', async () => {
    const here = await start();
    const mac = await here.mac();
    await sent(here, mac, 'm1');
    await until(() => here.crm.accepted('m1').length === 1);
    mac.terminate();
    await here.settled();
    expect(here.crm.statusesOf('m1').map(({ status }) => status)).toEqual(['pending']);
  });

  it('A10 the service itself produces CLIENT_NOT_CONNECTED and the codes of refused requests, nothing else', async () => {
    const here = await start();
    await here.webhook({ messageId: 'm1' });
    await here.webhook({ messageId: 'm2', phone: 'x' });
    await until(() => here.crm.statuses.length === 2);
    const codes = here.crm.statuses.map(({ error }) => (error as { code: string }).code);
    expect(new Set(codes)).toEqual(new Set(['CLIENT_NOT_CONNECTED', 'RECIPIENT_PHONE_INVALID']));
  });

  it('A11 waits and tries again while the CRM does not know its own message yet, without touching the token', async () => {
    const here = await start({ settings: { statusWindowMs: 2500 } });
    const mac = await here.mac();
    const requestId = await sent(here, mac, here.crm.newMessage(LOCATION, 'm1'));
    const seq = mac.status({ requestId, messageId: 'm1', status: 'delivered' });
    const tried = () => here.crm.statusesOf('m1').filter(({ status }) => status === 'delivered').length;
    for (const tries of [1, 2]) {
      await until(() => tried() >= tries);
      await here.clock.skip(2 ** tries * 1000);
    }
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
    expect(here.crm.accepted('m1')).toEqual(['delivered']);
    expect(here.crm.callsTo('token')).toHaveLength(1);
  });

  it('A11 refreshes an expired token once and tries again', async () => {
    const here = await start();
    const mac = await here.mac();
    here.crm.expireTokens(LOCATION);
    const requestId = await sent(here, mac, 'm1');
    await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'delivered' }));
    expect(here.crm.accepted('m1')).toEqual(['pending', 'delivered']);
    expect(here.crm.callsTo('token')).toHaveLength(2);
  });

  it('A11 honours Retry-After', async () => {
    const here = await start();
    const mac = await here.mac();
    here.crm.injectFault({ match: 'status', how: { status: 429, retryAfter: 30 } });
    await sent(here, mac, 'm1');
    await until(() => here.crm.statusesOf('m1').length === 1);
    await here.clock.skip(20_000);
    await here.operator('GET', '/operator/grants');
    expect(here.crm.statusesOf('m1')).toHaveLength(1);
    await here.clock.skip(10_000);
    await until(() => here.crm.accepted('m1').length === 1);
  });

  it('A11 what the CRM refuses for good is acknowledged as rejected, logged, and not repeated', async () => {
    const here = await start();
    const mac = await here.mac();
    const requestId = await sent(here, mac, 'm1');
    await until(() => here.crm.accepted('m1').length === 1);
    here.crm.injectFault({ match: 'status', how: { status: 422, body: { message: 'No' } }, times: 9 });
    const ack = await mac.ack(mac.status({ requestId, messageId: 'm1', status: 'delivered' }));
    expect(ack).toMatchObject({ outcome: 'rejected', reason: expect.stringContaining('422') });
    here.crm.clearFaults();
    await here.settled();
    expect(here.crm.statusesOf('m1')).toHaveLength(2);
    expect(here.log).toContain('"event":"status.not_accepted"');
  });

  it('A11 a terminal status is acknowledged only when the CRM took it, and survives a restart on the Mac', async () => {
    const here = await start();
    const mac = await here.mac();
    const requestId = await sent(here, mac, 'm1');
    await until(() => here.crm.accepted('m1').length === 1);
    const fault = here.crm.injectFault({ match: 'status', how: { status: 503 }, times: 1000 });
    mac.status({ requestId, messageId: 'm1', status: 'delivered' });
    await until(() => fault.hits >= 1);
    await here.clock.skip(1000);
    await until(() => fault.hits >= 2);
    expect(mac.frames.filter(({ type }) => type === 'ack')).toEqual([]);
    mac.terminate();
    here.crm.clearFaults();
    await here.restart();
    const again = await here.mac(LOCATION, undefined, mac.seq);
    const seq = again.status({ requestId, messageId: 'm1', status: 'delivered' });
    expect(await again.ack(seq)).toMatchObject({ outcome: 'delivered' });
    expect(here.crm.accepted('m1')).toEqual(['pending', 'delivered']);
  });

  it('A3 a Mac speaks for its own location only', async () => {
    const here = await start();
    const other = 'locBBBBBBBBBBBBBBBB2';
    await here.authorise(other);
    const mac = await here.mac();
    const stranger = await here.mac(other, 'mac-of-another');
    const requestId = await sent(here, mac, 'm1');
    await until(() => here.crm.accepted('m1').length === 1);
    const ack = await stranger.ack(stranger.status({ requestId, messageId: 'm1', status: 'delivered' }));
    expect(ack).toMatchObject({ outcome: 'rejected' });
    await here.settled();
    expect(here.crm.accepted('m1')).toEqual(['pending']);
  });
});
