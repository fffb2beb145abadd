import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import {
  GOOD,
  LOCATION,
  OTHER_LOCATION,
  PHONE,
  bridgesWithMac,
  failuresReported,
  without,
} from './test-bridge.ts';

const start = bridgesWithMac();

describe('reports about webhooks', () => {
  it.each([
    ['MISSING_REQUIRED_FIELDS', without('contactId'), 'MISSING_REQUIRED_FIELDS'],
    ['MESSAGE_BODY_TOO_LONG', { ...GOOD, message: 'a'.repeat(20_001) }, 'MESSAGE_BODY_TOO_LONG'],
    ['RECIPIENT_PHONE_INVALID', { ...GOOD, phone: 'x' }, 'RECIPIENT_PHONE_INVALID'],
    ['the 404', { ...GOOD, locationId: OTHER_LOCATION }, 'CLIENT_NOT_CONNECTED'],
  ])('A7 %s is also reported as a status', async (_name, body, code) => {
    const bridge = await start();
    await bridge.authorise(OTHER_LOCATION);
    // The rejection of a message that is in progress is not reported (A5).
    const messageId = `rejected with ${code}`;
    await bridge.post({ ...body, messageId });
    const [failed] = await until(() => {
      const failures = bridge.crm.statuses.filter(({ status }) => status === 'failed');
      return failures.length > 0 ? failures : undefined;
    });
    expect(failed).toMatchObject({
      locationId: body['locationId'],
      messageId,
      error: { code, message: expect.stringMatching(/\w/) },
    });
    expect(await failuresReported(bridge)).toHaveLength(1);
  });

  it.each([
    ['INVALID_CONTENT_TYPE', GOOD, { headers: { 'Content-Type': 'text/plain' } }],
    ['INVALID_REQUEST_BODY', GOOD, { headers: { 'Content-Type': 'application/jsonl' } }],
    ['UNSUPPORTED_MESSAGE_TYPE', { ...GOOD, type: 'Email' }, {}],
    ['INVALID_ATTACHMENTS', { ...GOOD, attachments: ['x'] }, {}],
    ['401', GOOD, { signature: 'x' }],
    ['200', GOOD, {}],
    ['an unusable messageId', { ...GOOD, messageId: '..', phone: 'x' }, {}],
    ['no messageId', { ...without('messageId'), phone: 'x' }, {}],
    ['no location', without('locationId'), {}],
  ])('A7 %s is not reported as a status', async (_name, body, options) => {
    const bridge = await start();
    await bridge.post(body, options);
    expect(await failuresReported(bridge)).toEqual([]);
  });

  it('A7 a 429 is not reported as a status', async () => {
    const bridge = await start({ env: { RATE_LIMIT_CRM_WEBHOOK: '1' } });
    await bridge.authorise(OTHER_LOCATION);
    await bridge.mac(OTHER_LOCATION);
    await bridge.post(GOOD);
    expect((await bridge.post({ ...GOOD, phone: 'x' })).status).toBe(429);
    expect(await failuresReported(bridge, OTHER_LOCATION)).toEqual([]);
  });

  it('A1 a messageId that cannot be a path segment gets no callback, and the response repeats it', async () => {
    const bridge = await start();
    for (const messageId of ['.', '..', '', 'x'.repeat(257), '\ud800']) {
      const { status, json } = await bridge.post({ ...GOOD, messageId });
      expect(status).toBe(200);
      expect(json?.['messageId']).toBe(messageId);
    }
    expect((await bridge.sent()).map(({ messageId }) => messageId)).toEqual([null, null, null, null, null]);
  });

  it('the journal has accepted and rejected requests, without text or number', async () => {
    const bridge = await start();
    const answers = [
      await bridge.post({ ...GOOD, message: 'CANARY text' }),
      await bridge.post({ ...GOOD, locationId: OTHER_LOCATION }),
      await bridge.post({ ...GOOD, phone: 'CANARY' }),
      await bridge.post(GOOD, { signature: 'x' }),
    ];
    const [accepted, notConnected, rejected, unsigned] = answers.map(({ headers }) =>
      headers.get('x-request-id'),
    );
    const messages = [
      await bridge.journalled(accepted, 'written'),
      await bridge.journalled(notConnected, 'not_connected'),
      await bridge.journalled(rejected, 'rejected'),
    ];
    expect(messages).toMatchObject([
      { direction: 'outbound', locationId: LOCATION, kind: 'text', phone: '+1•••0100', length: 11 },
      { status: 'rejected', code: 'LOCATION_NOT_CONNECTED' },
      { status: 'rejected', code: 'RECIPIENT_PHONE_INVALID', phone: null },
    ]);
    expect(messages[0]?.steps[0]).toMatchObject({
      step: 'accepted',
      detail: { key: 'CRM_PUBLIC_KEY', channel: 'imessage' },
    });
    expect(JSON.stringify(messages)).not.toMatch(/CANARY|4155550100/);
    expect(await bridge.operator('GET', `/operator/messages/${unsigned}`)).toMatchObject({ status: 404 });
  });

  it.each([
    ['text', {}, 'text'],
    ['attachment', { attachments: ['https://cdn.example/a.png'] }, 'attachment'],
    [
      'reaction',
      { reaction: { kind: 'classic', action: 'add', target_message_guid: 'g', type: 'love' } },
      'reaction',
    ],
    ['sticker', { sticker: { url: 'https://cdn.example/s.png' } }, 'sticker'],
    ['group', { is_group: true }, 'group'],
  ])('the journal recognises a %s by its footer', async (_name, more, kind) => {
    const bridge = await start();
    const isFooter = kind !== 'text' && kind !== 'attachment';
    const footer = `\n-- svc-metadata:v1 --\n${JSON.stringify({ chat_id: 1, ...more })}\n-- end svc-metadata --`;
    const { json } = await bridge.post(isFooter ? { ...GOOD, message: `Hi${footer}` } : { ...GOOD, ...more });
    expect(await bridge.journalled(json?.['requestId'], 'accepted')).toMatchObject({ kind });
  });

  it('I2 only a message that was sent sets the preferred contact of its number', async () => {
    const bridge = await start({});
    await bridge.authorise(OTHER_LOCATION);
    const [first, second] = [1, 2].map(() =>
      bridge.crm.addContact({ locationId: OTHER_LOCATION, phone: PHONE }),
    );
    const body = { ...GOOD, locationId: OTHER_LOCATION, contactId: second?.id };
    expect((await bridge.post(body)).status).toBe(404);
    const mac = await bridge.mac(OTHER_LOCATION);
    await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }));
    await bridge.post(body);
    await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }));
    expect(bridge.crm.messages.map(({ contactId }) => contactId)).toEqual([first?.id, second?.id]);
  });
});
