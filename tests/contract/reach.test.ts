import type { Mac } from '@footbridge/testkit/mac';
import { describe, expect, it } from 'vitest';

import { LOCATION, OTHER_LOCATION, PHONE, bridges } from './test-bridge.ts';
import type { TestBridge } from './test-bridge.ts';

const start = bridges();
const PATH = `/operator/locations/${LOCATION}/reach?phone=`;
const HOUR = 3_600_000;

async function join(bridge: TestBridge, capabilities: string[]): Promise<Mac> {
  const mac = await bridge.connect();
  await mac.register(LOCATION, { capabilities });
  return mac;
}

const ask = (bridge: TestBridge, phone = PHONE) => bridge.operator('GET', PATH + encodeURIComponent(phone));

/** Replies to the next request. */
async function reply(mac: Mac, reach: string, reason = 'The person last wrote by it.'): Promise<string> {
  const { requestId, phone } = await mac.nextFrame('reach_request', 60_000);
  mac.send({ type: 'reach_result', requestId, reach, reason });
  return phone;
}

describe('the reach of a person', () => {
  it('is what the Mac of the location replies, without the number in the response, the log and the database', async () => {
    const bridge = await start({});
    const mac = await join(bridge, ['reach']);
    const asked = ask(bridge, '(415) 555-0100');
    expect(await reply(mac, 'iMessage')).toBe(PHONE);
    expect(await asked).toEqual({
      status: 200,
      body: {
        phone: '+1•••0100',
        reach: 'iMessage',
        reason: 'The person last wrote by it.',
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      },
    });
    const rows = ['audit', 'messages'].map((table) => bridge.rows(`select * from ${table}`));
    expect(JSON.stringify(rows) + bridge.log).not.toMatch(/4155550100|555-0100/);
  });

  it('is kept for an hour, until a person is erased, and not at all while it is unknown', async () => {
    const bridge = await start({});
    let mac = await join(bridge, ['reach']);
    const fresh = async (reach: string) => {
      const asked = ask(bridge);
      await reply(mac, reach);
      expect((await asked).body).toMatchObject({ reach });
    };
    await fresh('unknown');
    await fresh('SMS');
    expect((await ask(bridge)).body).toMatchObject({ reach: 'SMS' });
    bridge.clock.freeze(HOUR);
    mac = await join(bridge, ['reach']);
    await fresh('iMessage');
    await bridge.operator('POST', '/operator/privacy/erase', { phone: '+14155550177' });
    await fresh('SMS');
  });

  it('is unknown for a Mac that does not list the capability, which gets no request', async () => {
    const bridge = await start();
    const mac = await join(bridge, []);
    expect((await ask(bridge)).body).toMatchObject({
      reach: 'unknown',
      reason: expect.stringContaining('footbridge-agent update'),
    });
    await mac.roundTrip();
    expect(mac.frames.some(({ type }) => type === 'reach_request')).toBe(false);
  });

  it('is unknown when the Mac does not reply within 5 seconds; a reply after that has no effect', async () => {
    const bridge = await start({});
    const mac = await join(bridge, ['reach']);
    const asked = ask(bridge);
    const { requestId } = await mac.nextFrame('reach_request', 60_000);
    await bridge.clock.skip(5000);
    expect((await asked).body).toMatchObject({
      reach: 'unknown',
      reason: expect.stringContaining('5 seconds'),
    });
    for (const id of [requestId, requestId, 'never-asked'])
      mac.send({ type: 'reach_result', requestId: id, reach: 'SMS', reason: '' });
    const again = ask(bridge);
    await reply(mac, 'iMessage');
    expect((await again).body).toMatchObject({ reach: 'iMessage' });
    expect(mac.isOpen).toBe(true);
  });

  it('is rejected without a Mac, without a number, and for a token of another location', async () => {
    const bridge = await start();
    expect(await ask(bridge)).toMatchObject({ status: 409, body: { code: 'CONFLICT' } });
    for (const query of ['', 'Jo Doe']) expect((await ask(bridge, query)).status).toBe(400);
    expect((await bridge.operator('GET', `${PATH}${PHONE.slice(1)}&all=true`)).status).toBe(400);
    const { body } = await bridge.operator('POST', '/operator/tokens', {
      label: 'Other',
      locations: [OTHER_LOCATION],
    });
    const answer = await fetch(`${bridge.bridge.operatorUrl}${PATH}%2B14155550100`, {
      headers: { Authorization: `Bearer ${String(body['token'])}` },
    });
    expect(answer.status).toBeGreaterThanOrEqual(403);
    expect(answer.status).toBeLessThanOrEqual(404);
  });

  it('is accepted only from the Mac that was asked', async () => {
    const bridge = await start({});
    const mac = await join(bridge, ['reach']);
    const other = await bridge.connect();
    await other.register(OTHER_LOCATION, { capabilities: ['reach'] });
    const asked = ask(bridge);
    const { requestId } = await mac.nextFrame('reach_request', 60_000);
    other.send({ type: 'reach_result', requestId, reach: 'SMS', reason: 'Not asked.' });
    await other.roundTrip();
    mac.send({ type: 'reach_result', requestId, reach: 'iMessage', reason: 'Asked.' });
    expect((await asked).body).toMatchObject({ reach: 'iMessage', reason: 'Asked.' });
  });
});
