import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import { GOOD, LOCATION, PHONE, bridgesWithMac, without } from './test-bridge.ts';
import type { TestBridge } from './test-bridge.ts';

const start = bridgesWithMac();

describe('a phone that is looked up', () => {
  const contactWith = (bridge: TestBridge, phone?: string) =>
    bridge.crm.addContact({ locationId: LOCATION, ...(phone !== undefined && { phone }) }).id;
  const lookUps = (bridge: TestBridge) => bridge.crm.callsTo('contact').map(({ params }) => params);

  it('W7 is the phone of the contact', async () => {
    const bridge = await start();
    const contactId = contactWith(bridge, '(415) 555-0199');
    expect((await bridge.post({ ...without('phone'), contactId })).status).toBe(200);
    expect(bridge.crm.callsTo('contact')).toMatchObject([
      { locationId: LOCATION, path: `/contacts/${contactId}` },
    ]);
    expect((await bridge.sent())[0]?.phone).toBe('+14155550199');
  });

  it('W7 is missing when the contact has none', async () => {
    const bridge = await start();
    for (const phone of [undefined, '', '  ']) {
      const contactId = contactWith(bridge, phone);
      const { status, json } = await bridge.post({ ...without('phone'), contactId });
      expect(status).toBe(400);
      expect(json).toMatchObject({ code: 'MISSING_REQUIRED_FIELDS', required: ['phone'] });
    }
    expect(lookUps(bridge)).toHaveLength(3);
  });

  it('W7 is not looked up when the request has one', async () => {
    const bridge = await start();
    const contactId = contactWith(bridge, '+14155550199');
    await bridge.post({ ...GOOD, contactId });
    expect((await bridge.sent())[0]?.phone).toBe(PHONE);
    expect(lookUps(bridge)).toEqual([]);
  });

  it('W7 is not looked up for a request that lacks another field or has another type', async () => {
    const bridge = await start();
    const contactId = contactWith(bridge, '+14155550199');
    await bridge.post({ ...without('phone', 'message'), contactId });
    await bridge.post(without('phone', 'contactId'));
    await bridge.post({ ...without('phone'), contactId, type: 'Email' });
    expect(lookUps(bridge)).toEqual([]);
  });

  it('W7 is missing when the CRM fails', async () => {
    const bridge = await start();
    const contactId = contactWith(bridge, '+14155550199');
    const fault = bridge.crm.injectFault({ match: 'contact', how: { status: 500 } });
    const { json } = await bridge.post({ ...without('phone'), contactId });
    expect(json).toMatchObject({ required: ['phone'] });
    expect(fault.hits).toBe(1);
    expect(await bridge.sent()).toEqual([]);
  });

  it('W7 is missing when the CRM does not respond within five seconds', async () => {
    const bridge = await start();
    const contactId = contactWith(bridge, '+14155550199');
    const fault = bridge.crm.injectFault({ match: 'contact', how: 'hang' });
    const answer = bridge.post({ ...without('phone'), contactId });
    await until(() => fault.hits === 1);
    await bridge.clock.skip(5000);
    expect((await answer).json).toMatchObject({ code: 'MISSING_REQUIRED_FIELDS', required: ['phone'] });
  });

  it('W7 is rejected when it is not a phone number', async () => {
    const bridge = await start();
    const contactId = contactWith(bridge, 'ask Anna');
    const { json } = await bridge.post({ ...without('phone'), contactId });
    expect(json?.['code']).toBe('RECIPIENT_PHONE_INVALID');
  });
});

describe('phone numbers', () => {
  it.each([
    ['+14155550100', '+14155550100'],
    ['+1 (415) 555-0100', '+14155550100'],
    ['+1.415.555.0100', '+14155550100'],
    ['415-555-0100', '+14155550100'],
    ['(415) 555 0100', '+14155550100'],
    ['1 415 555 0100', '+14155550100'],
    ['  +44 20 7946 0958 ', '+442079460958'],
    ['+31 6 12345678', '+31612345678'],
    ['+49\u00a030\u2011901820', '+4930901820'],
    ['011 44 20 7946 0958', '+442079460958'],
    ['12345', '12345'],
    ['123', '123'],
    ['12345678', '12345678'],
    ['88-22-33', '882233'],
  ])('W8 %j is forwarded as %s', async (phone, expected) => {
    const bridge = await start();
    expect((await bridge.post({ ...GOOD, phone })).status).toBe(200);
    expect((await bridge.sent())[0]?.phone).toBe(expected);
  });

  it('W8 numbers without a country code belong to the configured country', async () => {
    const bridge = await start({ env: { PHONE_DEFAULT_COUNTRY: 'NL' } });
    await bridge.post({ ...GOOD, phone: '06 12345678' });
    expect((await bridge.sent())[0]?.phone).toBe('+31612345678');
  });

  it.each([
    'anna@example.com',
    'nonsense',
    '+',
    '12',
    '+1',
    '+1415555010',
    '+141555501000',
    '+0123456789',
    '+999999999999',
    '+1415555010a',
    '+1 415 555 0100 x5',
    '+14155550100;ext=5',
    '++14155550100',
    'tel:+14155550100',
    '٠١٢٣٤٥٦٧٨٩',
    '+1415555\u00000100',
    '9'.repeat(40),
    `+1415${' '.repeat(100)}5550100`,
  ])('W8 %j is rejected', async (phone) => {
    const bridge = await start();
    const { status, json } = await bridge.post({ ...GOOD, phone });
    expect(status).toBe(400);
    expect(json).toEqual({ error: 'Invalid phone number format', code: 'RECIPIENT_PHONE_INVALID' });
    expect(await bridge.sent()).toEqual([]);
  });
});
