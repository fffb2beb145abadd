import { requestProblems } from '@footbridge/testkit/openapi';
import type { Mac } from '@footbridge/testkit/mac';
import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import { LOCATION, PHONE, bridges } from './test-bridge.ts';
import type { TestBridge } from './test-bridge.ts';

const start = bridges();
const FIELD = '6dvNaf7VhkQ9snc5vnjJ';
const MINUTE = 60_000;
const TEN_MINUTES = 600_000;

async function join(bridge: TestBridge, seq = 1): Promise<Mac> {
  const mac = await bridge.connect({ token: await bridge.token(`mac-${LOCATION}`), seq });
  await mac.register(LOCATION, { capabilities: ['reach'] });
  return mac;
}

async function startWithField(
  env: Record<string, string> = { CRM_REACH_FIELD_ID: FIELD },
): Promise<{ bridge: TestBridge; mac: Mac; shown: () => unknown }> {
  const bridge = await start({ env });
  const { id } = bridge.crm.addContact({ locationId: LOCATION, phone: PHONE });
  const contact = () => bridge.crm.contacts.find((one) => one.id === id);
  return { bridge, mac: await join(bridge), shown: () => contact()?.customFields?.[FIELD] };
}

const say = async (mac: Mac) =>
  expect(await mac.ack(mac.received({ sender: PHONE, text: 'Hello' }), 60_000)).toMatchObject({
    outcome: 'delivered',
  });

type Word = 'iMessage' | 'SMS' | 'unknown';

/** The service asks the Mac a minute after a message. */
async function reply(bridge: TestBridge, mac: Mac, reach: Word): Promise<void> {
  await bridge.clock.skip(MINUTE);
  await replyNow(mac, reach);
}

async function replyNow(mac: Mac, reach: Word): Promise<void> {
  const { requestId } = await mac.nextFrame('reach_request', 60_000);
  mac.send({ type: 'reach_result', requestId, reach, reason: 'The person last wrote by it.' });
  await mac.roundTrip();
}

const writes = (bridge: TestBridge) => bridge.crm.callsTo('updateContact');

/** Writes another contact and waits for it, so that earlier writes have finished. Resolves with their number. */
async function writesSettled(bridge: TestBridge, mac: Mac): Promise<number> {
  const phone = `+1415555${String(1000 + writes(bridge).length).padStart(4, '0')}`;
  const { id } = bridge.crm.addContact({ locationId: LOCATION, phone });
  await bridge.webhook({ phone });
  await reply(bridge, mac, 'SMS');
  await until(async () => {
    await bridge.clock.skip(1000);
    return bridge.crm.contacts.find((one) => one.id === id)?.customFields !== undefined;
  });
  return writes(bridge).length - 1;
}

describe('the reach of a contact in a custom field', () => {
  it('is written after a message, as the OpenAPI document of the CRM requires, and once per change', async () => {
    const { bridge, mac, shown } = await startWithField();
    await bridge.webhook();
    await mac.nextFrame('send', 60_000);
    await reply(bridge, mac, 'unknown');
    await until(() => shown() === 'unknown', { what: 'unknown in the field' });
    for (const reach of ['SMS', 'iMessage'] as const) {
      await say(mac);
      await reply(bridge, mac, reach);
      await until(async () => {
        await bridge.clock.skip(1000);
        return shown() === reach;
      });
    }
    await say(mac);
    await reply(bridge, mac, 'iMessage');
    await say(mac);
    await reply(bridge, mac, 'unknown');
    expect(await writesSettled(bridge, mac)).toBe(3);
    expect(shown()).toBe('iMessage');
    expect(writes(bridge).flatMap(requestProblems)).toEqual([]);
    const rows = bridge.rows('select * from reach_fields');
    expect(JSON.stringify(rows) + bridge.log).not.toMatch(/4155550100/);
  });

  it('is requested once after several messages within a minute', async () => {
    const { bridge, mac, shown } = await startWithField();
    for (let count = 0; count < 3; count++) await bridge.webhook();
    await say(mac);
    await reply(bridge, mac, 'SMS');
    await until(() => shown() === 'SMS');
    await mac.roundTrip();
    expect(mac.frames.filter(({ type }) => type === 'reach_request')).toHaveLength(1);
  });

  it('is exported and erased for a sender whose Mac reports no country code', async () => {
    const { bridge, mac } = await startWithField();
    const person = { phone: '+14155550188' };
    const exported = async () =>
      (await bridge.operator('POST', '/operator/privacy/export', person)).body['reach'] as unknown[];
    await mac.ack(mac.received({ sender: '1 (415) 555-0188', text: 'Hello' }), 60_000);
    await reply(bridge, mac, 'SMS');
    await until(async () => (await exported()).length === 1);
    await bridge.operator('POST', '/operator/privacy/erase', person);
    expect(await exported()).toEqual([]);
    expect(bridge.rows('select * from reach_fields')).toEqual([]);
  });

  it('is not written again after a restart, except into another field', async () => {
    const { bridge, mac, shown } = await startWithField();
    await say(mac);
    await reply(bridge, mac, 'SMS');
    await until(() => shown() === 'SMS');
    await bridge.restart();
    const again = await join(bridge, 10);
    await say(again);
    await reply(bridge, again, 'SMS');
    expect(await writesSettled(bridge, again)).toBe(1);
    await bridge.restart({ CRM_REACH_FIELD_ID: `${LOCATION}=otherField` });
    const third = await join(bridge, 20);
    await say(third);
    await reply(bridge, third, 'SMS');
    await until(() => writes(bridge).length === 3);
    expect(writes(bridge).at(-1)?.body).toEqual({ customFields: [{ id: 'otherField', field_value: 'SMS' }] });
  });

  it('is written when the operator asks for it', async () => {
    const { bridge, mac, shown } = await startWithField();
    const path = `/operator/locations/${LOCATION}/reach?phone=${encodeURIComponent(PHONE)}`;
    const asked = bridge.operator('GET', path);
    await replyNow(mac, 'iMessage');
    expect((await asked).body).toMatchObject({ reach: 'iMessage' });
    await until(() => shown() === 'iMessage');
  });

  it('does not delay or fail a message when the CRM rejects the write, and is not written again for ten minutes', async () => {
    const { bridge, mac, shown } = await startWithField();
    bridge.crm.injectFault({ match: 'updateContact', how: { status: 403 } });
    await say(mac);
    await reply(bridge, mac, 'SMS');
    await until(() => bridge.log.includes('reach.field_not_written'));
    await say(mac);
    await reply(bridge, mac, 'SMS');
    expect(writes(bridge)).toHaveLength(1);
    await bridge.clock.skip(TEN_MINUTES);
    const again = await join(bridge, 10);
    await say(again);
    await reply(bridge, again, 'SMS');
    await until(() => shown() === 'SMS');
  });

  it('is neither requested nor written without the setting, or in other locations', async () => {
    for (const env of [{}, { CRM_REACH_FIELD_ID: 'locCCCCCCCCCCCCCCCC3=field' }] as Record<
      string,
      string
    >[]) {
      const { bridge, mac } = await startWithField(env);
      await bridge.webhook();
      await say(mac);
      await bridge.clock.skip(2 * MINUTE);
      await mac.roundTrip();
      expect(mac.frames.filter(({ type }) => type === 'reach_request')).toEqual([]);
      expect(writes(bridge)).toEqual([]);
    }
  });

  it('is in the export of a person, and is erased with them', async () => {
    const { bridge, mac, shown } = await startWithField();
    await say(mac);
    await reply(bridge, mac, 'SMS');
    await until(() => shown() === 'SMS');
    const exported = async () =>
      (await bridge.operator('POST', '/operator/privacy/export', { phone: PHONE })).body['reach'];
    await until(async () => JSON.stringify(await exported()) !== '[]');
    expect(await exported()).toEqual([
      { locationId: LOCATION, fieldId: FIELD, reach: 'SMS', since: expect.stringContaining('T') },
    ]);
    await bridge.operator('POST', '/operator/privacy/erase', { phone: PHONE });
    expect(await exported()).toEqual([]);
  });
});
