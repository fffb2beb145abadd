import { afterEach, describe, expect, it } from 'vitest';

import { GOOD, LOCATION, PHONE, TestBridge } from './test-bridge.ts';

let running: TestBridge | undefined;
afterEach(() => running?.stop());

async function start(env: Record<string, string>) {
  const bridge = (running = await TestBridge.start({ env }));
  const contact = bridge.crm.addContact({ locationId: LOCATION, phone: PHONE });
  const mac = await bridge.mac();
  return { bridge, contact, mac, crm: bridge.crm };
}

const OTHER_PHONE = '+14155550177';
const ON = { CRM_MIRROR_SENT: 'true', FOOTER_ON_PLAIN_TEXT: 'true' };

describe('a message that the owner of a Mac typed', () => {
  it('is added to the conversation of the contact as outbound, once', async () => {
    const { crm, contact, mac } = await start(ON);
    expect(mac.frames[0]).toMatchObject({ type: 'registered', mirror: true });
    const typed = { sender: PHONE, text: 'STOP by at nine', fromMe: true, guid: 'typed' } as const;
    expect(await mac.ack(mac.received(typed))).toMatchObject({ outcome: 'delivered' });
    expect(await mac.ack(mac.received(typed))).toMatchObject({ outcome: 'delivered' });
    expect(crm.callsTo('inbound').map(({ body }) => body)).toEqual([
      {
        type: 'SMS',
        contactId: contact.id,
        locationId: LOCATION,
        message: 'STOP by at nine',
        direction: 'outbound',
      },
    ]);
  });

  it('is not an opt-out of the customer', async () => {
    const { bridge, mac } = await start({ ...ON, OPT_OUT_WORDS: 'true', OPT_OUT_ENFORCED: 'true' });
    await mac.ack(mac.received({ sender: PHONE, text: 'STOP', fromMe: true }));
    expect((await bridge.post(GOOD)).status).toBe(200);
  });

  it('is skipped without a trace when its recipient is not a contact', async () => {
    const { bridge, crm, mac } = await start(ON);
    const seq = mac.received({ sender: OTHER_PHONE, text: 'Dinner?', fromMe: true });
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'skipped' });
    expect(crm.callsTo('inbound')).toEqual([]);
    const { body } = await bridge.operator('GET', '/operator/messages');
    expect(body['messages']).toEqual([]);
  });

  it('is skipped by default', async () => {
    const { crm, mac } = await start({});
    expect(mac.frames[0]).not.toHaveProperty('mirror');
    const seq = mac.received({ sender: PHONE, text: 'Hi', fromMe: true });
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'skipped' });
    expect(crm.callsTo('inbound')).toEqual([]);
  });
});
