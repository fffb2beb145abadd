import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { GOOD, LOCATION, OTHER_LOCATION, PHONE, TestBridge } from './test-bridge.ts';

let running: TestBridge | undefined;
afterEach(() => running?.stop());

async function start(env: Record<string, string> = {}): Promise<TestBridge> {
  running = await TestBridge.start({ env });
  return running;
}

const ENFORCED = { OPT_OUT_ENFORCED: 'true' };
let count = 0;
/** Resolves with the HTTP status and the code of a webhook to the number. */
async function text(bridge: TestBridge, fields: object = {}): Promise<string> {
  const messageId = `m${++count}`;
  bridge.crm.newMessage(LOCATION, messageId);
  const { status, json } = await bridge.post({ ...GOOD, messageId, ...fields });
  const code = json?.['code'];
  return typeof code === 'string' ? `${status} ${code}` : String(status);
}
const dnd = (bridge: TestBridge, fields: object) =>
  bridge.crm.sendAppEvent({
    type: 'ContactDndUpdate',
    locationId: LOCATION,
    id: 'c1',
    phone: PHONE,
    ...fields,
  });
/** Real events have both. */
const UNDATED = { timestamp: undefined, webhookId: undefined };
const sms = (status: string) => ({ dndSettings: { SMS: { status, message: '', code: '' } } });

describe('opt-out', () => {
  it('E4 a webhook to a suppressed number passes unless opt-outs are enforced', async () => {
    const bridge = await start();
    await bridge.mac();
    await dnd(bridge, sms('active'));
    expect(await text(bridge)).toBe('200');
  });

  it('E4 a webhook to a suppressed number fails with OPTED_OUT when opt-outs are enforced, and the Mac gets nothing', async () => {
    const bridge = await start(ENFORCED);
    const mac = await bridge.mac();
    expect(await text(bridge)).toBe('200');
    await mac.nextFrame('send', 60_000);
    expect((await dnd(bridge, sms('active'))).status).toBe(200);
    bridge.crm.newMessage(LOCATION, 'told');
    expect(await text(bridge, { messageId: 'told' })).toBe('403 OPTED_OUT');
    await until(() => bridge.crm.statusesOf('told').length > 0, { what: 'a status' });
    expect(bridge.crm.statusesOf('told')[0]).toMatchObject({
      status: 'failed',
      error: { code: 'OPTED_OUT' },
    });
    expect(await text(bridge, { phone: '+14155550199' })).toBe('200');
    expect((await mac.nextFrame('send', 60_000)).phone).toBe('+14155550199');
  });

  it('E4 the setting of the channel decides, and ends the suppression too', async () => {
    const bridge = await start(ENFORCED);
    await bridge.mac();
    for (const [fields, expected] of [
      [sms('permanent'), '403 OPTED_OUT'],
      [sms('inactive'), '200'],
      [{ dnd: true }, '403 OPTED_OUT'],
      [{ dnd: false }, '200'],
      [{ dnd: true, dndSettings: { Email: { status: 'active' } } }, '403 OPTED_OUT'],
      [{ dnd: false, dndSettings: { Email: { status: 'active' } } }, '200'],
    ] as const) {
      await dnd(bridge, fields);
      expect([fields, await text(bridge)]).toEqual([fields, expected]);
    }
  });

  it('E4 T66 an opt-out is ended by a newer event only, not by one without a time or one that arrives again', async () => {
    const bridge = await start(ENFORCED);
    await bridge.mac();
    const now = bridge.clock.now();
    const time = (ms: number) => new Date(now + ms).toISOString();
    const end = { ...sms('inactive'), ...UNDATED };
    await dnd(bridge, { ...sms('active'), ...UNDATED });
    for (const late of [
      end,
      { ...UNDATED, dnd: false },
      { ...end, dateUpdated: time(-500) },
      { ...end, timestamp: time(-500) },
      { ...end, timestamp: 'yesterday' },
      { ...end, timestamp: time(86_400_000) },
      end,
    ]) {
      expect((await dnd(bridge, late)).status).toBe(200);
      expect([late, await text(bridge)]).toEqual([late, '403 OPTED_OUT']);
    }
    await bridge.restart();
    await bridge.mac(LOCATION, `mac-${LOCATION}`, 10);
    await dnd(bridge, end);
    expect(await text(bridge)).toBe('403 OPTED_OUT');
    await bridge.clock.skip(1000);
    await dnd(bridge, { ...end, dateUpdated: new Date(bridge.clock.now()).toISOString() });
    expect(await text(bridge)).toBe('200');
  });

  it('E4 an older event, an event of another location or without a number changes nothing', async () => {
    const bridge = await start(ENFORCED);
    await bridge.mac();
    await dnd(bridge, { ...sms('inactive') });
    await dnd(bridge, { ...sms('active'), timestamp: new Date(bridge.clock.now() - 60_000).toISOString() });
    await dnd(bridge, { ...sms('active'), locationId: OTHER_LOCATION });
    for (const phone of [null, '', 7, 'anonymous', {}]) await dnd(bridge, { ...sms('active'), phone });
    for (const odd of [{ dndSettings: 'all' }, { dndSettings: { SMS: 7 } }, { dnd: 'yes' }, {}])
      expect((await dnd(bridge, odd)).status).toBe(200);
    expect(await text(bridge)).toBe('200');
  });

  it('E4 STOP suppresses the number of a customer, START ends that, and the CRM shows both', async () => {
    const bridge = await start({ ...ENFORCED, OPT_OUT_WORDS: 'true' });
    const mac = await bridge.mac();
    const contact = bridge.crm.addContact({ locationId: LOCATION, phone: PHONE });
    const shown = () => bridge.crm.contacts.find(({ id }) => id === contact.id)?.dndSettings?.['SMS'];
    const answer = async (word: string) => {
      const ack = await mac.ack(mac.received({ sender: PHONE, text: word }), 60_000);
      expect(ack).toMatchObject({ outcome: 'delivered' });
    };
    await answer('Stop by tomorrow');
    expect(await text(bridge)).toBe('200');
    await answer(' Stop. ');
    expect(await text(bridge)).toBe('403 OPTED_OUT');
    await until(() => shown() !== undefined, { what: 'do not disturb' });
    expect(shown()).toMatchObject({ status: 'active' });
    await bridge.restart();
    expect(await text(bridge)).toBe('403 OPTED_OUT');
    const again = await bridge.mac(LOCATION, `mac-${LOCATION}`, 10);
    await again.ack(again.received({ sender: PHONE, text: 'START' }), 60_000);
    expect(await text(bridge)).toBe('200');
  });

  it('E4 treats a number without a country code as one of PHONE_DEFAULT_COUNTRY, in CRM events too', async () => {
    const bridge = await start({ ...ENFORCED, PHONE_DEFAULT_COUNTRY: 'DE' });
    await bridge.mac();
    await dnd(bridge, { ...sms('active'), phone: '0171 1234567' });
    expect(await text(bridge, { phone: '+491711234567' })).toBe('403 OPTED_OUT');
  });

  it('E4 HELP is delivered and logged, and opts no one out', async () => {
    const bridge = await start({ ...ENFORCED, OPT_OUT_WORDS: 'true' });
    const mac = await bridge.mac();
    const ack = await mac.ack(mac.received({ sender: PHONE, text: 'Help' }), 60_000);
    expect(ack).toMatchObject({ outcome: 'delivered' });
    expect(bridge.log).toContain('opt_out.help_requested');
    expect(await text(bridge)).toBe('200');
    expect(bridge.crm.callsTo('updateContact')).toEqual([]);
  });

  it('E4 STOP and START have no effect unless OPT_OUT_WORDS is true', async () => {
    const bridge = await start(ENFORCED);
    const mac = await bridge.mac();
    await mac.ack(mac.received({ sender: PHONE, text: 'STOP' }), 60_000);
    expect(await text(bridge)).toBe('200');
    expect(bridge.crm.callsTo('updateContact')).toEqual([]);
  });
});
