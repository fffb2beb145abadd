import { parseFooter, writeFooter } from '@footbridge/protocol/footer';
import type { Received } from '@footbridge/testkit/mac';
import { requestProblems } from '@footbridge/testkit/openapi';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { TestBridge, LOCATION, PHONE } from './test-bridge.ts';
import type { TestBridgeOptions } from './test-bridge.ts';
import { dumpFiles } from './dump-files.ts';

/** A call that failed is repeated without the pauses after a lost response (I9). */
const NO_WAIT = { CRM_SETTLE_SEC: '0', CRM_READ_LAG_SEC: '0' };

let running: TestBridge | undefined;
afterEach(() => running?.stop());

async function start(options?: TestBridgeOptions) {
  running = await TestBridge.start(options);
  const contact = running.crm.addContact({ locationId: LOCATION, phone: PHONE });
  return { bridge: running, crm: running.crm, contact, mac: await running.mac() };
}

const chat = (id: number) => ({ id, isGroup: false, recipients: [PHONE] });

describe('the call to the CRM', () => {
  it('I1 has exactly the fields of the contract, and attachments only when there are any', async () => {
    const { crm, contact, mac } = await start();
    await mac.ack(mac.received({ sender: PHONE, text: 'Hi there', service: 'iMessage' }));
    const url = 'https://bridge.example/assets/1/photo.png';
    await mac.ack(mac.received({ sender: PHONE, text: 'Look', service: 'SMS', attachments: [url] }));
    await mac.ack(mac.received({ sender: PHONE, text: 'RCS', service: 'RCS' }));
    const body = { type: 'SMS', contactId: contact.id, locationId: LOCATION };
    expect(crm.callsTo('inbound').map((call) => [call.method, call.path, call.body])).toEqual([
      ['POST', '/conversations/messages/inbound', { ...body, message: 'Hi there' }],
      ['POST', '/conversations/messages/inbound', { ...body, message: 'Look', attachments: [url] }],
      ['POST', '/conversations/messages/inbound', { ...body, message: 'RCS' }],
    ]);
    const serious = crm.calls
      .flatMap(requestProblems)
      .filter((problem) => !/conversation(Provider)?Id/.test(problem));
    expect(serious).toEqual([]);
  });

  it('I1 is made for a message of an unknown service too, and the socket stays open', async () => {
    const { crm, mac } = await start();
    const chatOfGroup = { ...chat(7), isGroup: true };
    const seq = mac.received({ sender: PHONE, text: 'Hi', chat: chatOfGroup });
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
    const known = mac.frames.length;
    mac.send({
      type: 'message_received',
      seq: mac.seq++,
      guid: 'guid-of-a-new-service',
      sender: PHONE,
      service: 'Satellite',
      text: 'From far away',
      sentAt: new Date().toISOString(),
      chat: chatOfGroup,
    });
    expect(await mac.ack(mac.seq - 1)).toMatchObject({ outcome: 'delivered' });
    expect(mac.frames.length).toBe(known + 1);
    const { text, metadata } = parseFooter(crm.messages.at(-1)?.message ?? '');
    expect([text, metadata?.service_name]).toEqual(['From far away', 'SMS']);
  });

  it('I1 has the provider id and the type of an added channel', async () => {
    const { crm, mac } = await start({
      env: { CRM_CONVERSATION_PROVIDER_ID: '5f0e1d2c3b4a596877665544', CRM_INBOUND_TYPE: 'Custom' },
      settings: { provider: { kind: 'custom', id: '5f0e1d2c3b4a596877665544' } },
    });
    expect(await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }))).toMatchObject({
      outcome: 'delivered',
    });
    expect(crm.callsTo('inbound')[0]?.body).toMatchObject({
      type: 'Custom',
      conversationProviderId: '5f0e1d2c3b4a596877665544',
    });
  });

  it('I1 has the GUID as altId with CRM_SEND_ALT_ID, and a reply to it is threaded on the Mac', async () => {
    const { crm, mac, bridge } = await start({
      env: {
        CRM_CONVERSATION_PROVIDER_ID: '5f0e1d2c3b4a596877665544',
        CRM_INBOUND_TYPE: 'Custom',
        CRM_ACCEPTED_TYPES: 'SMS,Custom',
        CRM_SEND_ALT_ID: 'true',
      },
      settings: { provider: { kind: 'custom', id: '5f0e1d2c3b4a596877665544' } },
    });
    await mac.ack(mac.received({ sender: PHONE, text: 'Hi', guid: 'GUID-OF-HI' }));
    expect(crm.callsTo('inbound')[0]?.body).toMatchObject({ altId: 'GUID-OF-HI' });
    const reply = async (fields: object) => {
      expect(await bridge.webhook({ messageId: undefined, type: 'Custom', ...fields })).toMatchObject({
        status: 200,
      });
      return (await mac.nextFrame('send')).message ?? '';
    };
    expect(parseFooter(await reply({ message: 'Hello', replyToAltId: 'GUID-OF-HI' }))).toMatchObject({
      text: 'Hello',
      metadata: { reply_to: { message_guid: 'GUID-OF-HI' } },
    });
    for (const replyToAltId of ['', null, 7, 'x'.repeat(257), undefined])
      expect(await reply({ message: `Hello ${String(replyToAltId).length}`, replyToAltId })).not.toContain(
        'reply_to',
      );
    const own = writeFooter('Hello', { chat_id: 7 });
    expect(await reply({ message: own, replyToAltId: 'GUID-OF-HI' })).toBe(own);
  });

  it('I1 is repeated after a success without a message id', async () => {
    const { crm, mac } = await start({ env: NO_WAIT });
    crm.injectFault({ match: 'inbound', how: 'emptyBody' });
    expect(await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }), 5000)).toMatchObject({
      outcome: 'delivered',
    });
    expect(crm.messages.map(({ message }) => message)).toEqual(['Hi']);
    expect(crm.callsTo('inbound')).toHaveLength(2);
  });

  it('I7 carries Version and a bearer token, like every other call', async () => {
    const { crm, mac, bridge } = await start();
    await mac.ack(mac.received({ sender: '+14155550199', text: 'new here' }));
    await bridge.webhook({ messageId: 'm1', phone: undefined, contactId: crm.contacts[0]?.id ?? '' });
    await until(() => crm.accepted('m1').length === 1);
    const calls = crm.calls.filter(({ route }) => route !== 'token');
    expect(new Set(calls.map(({ route }) => route))).toEqual(
      new Set(['duplicate', 'upsert', 'inbound', 'contact', 'status']),
    );
    for (const { headers } of calls)
      expect(headers).toMatchObject({
        version: '2021-07-28',
        authorization: expect.stringMatching(/^Bearer \S+$/),
      });
  });

  it('I7 carries the Version of CRM_API_VERSION', async () => {
    const { crm, mac } = await start({ env: { CRM_API_VERSION: '2021-04-15' } });
    await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }));
    expect(crm.callsTo('inbound')[0]?.headers['version']).toBe('2021-04-15');
  });

  it('I4 uses the OAuth token when OAuth is enabled', async () => {
    const { crm, mac } = await start();
    await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }));
    expect(crm.callsTo('inbound')[0]?.headers['authorization']).toMatch(/^Bearer ey/);
  });

  it('I4 uses the private integration token when it is not', async () => {
    const { crm, bridge } = await start({ oauth: 'off' });
    await bridge.restart({ CRM_PIT_TOKENS: `${LOCATION}=${crm.pit(LOCATION)}` });
    const mac = await bridge.mac();
    expect(await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }))).toMatchObject({
      outcome: 'delivered',
    });
    expect(crm.callsTo('inbound')[0]?.headers['authorization']).toMatch(/^Bearer pit-/);
  });

  it('I4 uses the private integration token when OAuth is enabled but incomplete', async () => {
    const { crm, bridge } = await start();
    await bridge.restart({ CRM_OAUTH_CLIENT_SECRET: '', CRM_PIT_TOKENS: `${LOCATION}=${crm.pit(LOCATION)}` });
    const mac = await bridge.mac();
    expect(await mac.ack(mac.received({ sender: PHONE, text: 'Hi' }))).toMatchObject({
      outcome: 'delivered',
    });
    expect(crm.callsTo('inbound')[0]?.headers['authorization']).toMatch(/^Bearer pit-/);
  });
});

describe('the contact of a sender', () => {
  it('I2 is found by the number, with its plus encoded, in one search', async () => {
    const { crm, contact, mac } = await start();
    for (const text of ['one', 'two', 'three']) await mac.ack(mac.received({ sender: PHONE, text }));
    expect(crm.messages.map(({ contactId }) => contactId)).toEqual([contact.id, contact.id, contact.id]);
    expect(crm.callsTo('duplicate').map(({ query }) => query)).toEqual([
      { locationId: LOCATION, number: PHONE },
    ]);
    expect(crm.callsTo('upsert')).toEqual([]);
  });

  it('I2 is found by an email address too', async () => {
    const { crm, mac } = await start();
    const jo = crm.addContact({ locationId: LOCATION, email: 'jo@example.com' });
    await mac.ack(mac.received({ sender: 'jo@example.com', text: 'Hi' }));
    expect(crm.messages.map(({ contactId }) => contactId)).toEqual([jo.id]);
    expect(crm.callsTo('duplicate')[0]?.query).toEqual({ locationId: LOCATION, email: 'jo@example.com' });
  });

  it('I2 is never taken from a webhook without a search', async () => {
    const { crm, contact, mac, bridge } = await start();
    const stranger = crm.addContact({ locationId: LOCATION, phone: '+14155550199' });
    await bridge.webhook({ contactId: stranger.id, messageId: 'm1' });
    await mac.nextFrame('send');
    for (const text of ['one', 'two']) await mac.ack(mac.received({ sender: PHONE, text }));
    expect(crm.messages.map(({ contactId }) => contactId)).toEqual([contact.id, contact.id]);
    expect(crm.callsTo('duplicate')).toHaveLength(1);
  });

  it('I2 is the one of the last webhook to the number when the search finds several', async () => {
    const { crm, contact, mac, bridge } = await start({ settings: { allowDuplicates: true } });
    const twin = crm.addContact({ locationId: LOCATION, phone: PHONE });
    const receive = (text: string) => mac.ack(mac.received({ sender: PHONE, text }));
    await receive('before any webhook');
    await bridge.webhook({ contactId: twin.id, phone: '(415) 555-0100', messageId: 'm1' });
    await mac.nextFrame('send');
    for (const text of ['after it', 'from the cache']) await receive(text);
    await bridge.webhook({ contactId: contact.id, messageId: 'm2' });
    await mac.nextFrame('send');
    await receive('after another one');
    expect(crm.messages.map(({ contactId }) => contactId)).toEqual([
      contact.id,
      twin.id,
      twin.id,
      contact.id,
    ]);
    expect(crm.callsTo('duplicate')).toHaveLength(3);
    expect(crm.callsTo('search')).toHaveLength(1);
  });

  it('I2 is created once when there is none, also when two messages arrive at the same time', async () => {
    const { crm, mac } = await start();
    const seqs = [1, 2].map((id) =>
      mac.received({ sender: '+14155550177', text: `in chat ${id}`, chat: chat(id) }),
    );
    for (const seq of seqs) expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
    const made = crm.contacts.filter(({ phone }) => phone === '+14155550177');
    expect(made).toHaveLength(1);
    expect(new Set(crm.messages.map(({ contactId }) => contactId))).toEqual(new Set([made[0]?.id]));
  });

  it('I2 is not created with CRM_CREATE_CONTACTS=false: the message is undeliverable and can be redelivered later', async () => {
    const { crm, mac, bridge } = await start({ env: { CRM_CREATE_CONTACTS: 'false' } });
    const seq = mac.received({ sender: '+14155550177', text: 'Hi', guid: 'guid-unknown' });
    expect(await mac.ack(seq)).toMatchObject({
      outcome: 'rejected',
      reason: expect.stringContaining('no contact'),
    });
    expect(crm.messages).toEqual([]);
    const listed = await bridge.operator('GET', '/operator/messages?status=undeliverable');
    const [message] = listed.body['messages'] as { id: string; code: string; messageId: string }[];
    expect(message).toMatchObject({ messageId: 'guid-unknown', code: 'NO_CONTACT' });

    crm.addContact({ locationId: LOCATION, phone: '+14155550177' });
    const asked = await bridge.operator('POST', `/operator/messages/${message?.id ?? ''}/redeliver`);
    expect(asked).toMatchObject({ status: 202, body: { seq } });
    expect(await mac.nextFrame('redeliver')).toEqual({ type: 'redeliver', seq });
    const again = mac.received({ sender: '+14155550177', text: 'Hi', guid: 'guid-unknown' });
    expect(await mac.ack(again)).toMatchObject({ outcome: 'delivered' });
    expect(crm.messages).toHaveLength(1);
    expect((await bridge.operator('POST', `/operator/messages/${message?.id ?? ''}/redeliver`)).status).toBe(
      409,
    );
  });

  it.each([
    ['duplicate', PHONE, { CRM_CREATE_CONTACTS: 'false' }],
    ['upsert', '+14155550177', NO_WAIT],
  ] as const)('I2 is requested again after a 200 with a page for %s', async (match, sender, env) => {
    const { crm, mac } = await start({ env });
    const fault = crm.injectFault({ match, how: { status: 200, body: '<!doctype html>' }, times: 2 });
    expect(await mac.ack(mac.received({ sender, text: 'Hi' }), 10_000)).toMatchObject({
      outcome: 'delivered',
    });
    expect(fault.hits).toBe(2);
    expect(crm.contacts.filter(({ phone }) => phone === sender)).toHaveLength(1);
  });

  it('I2 is searched again when the CRM no longer knows it', async () => {
    const { crm, contact, mac } = await start();
    await mac.ack(mac.received({ sender: PHONE, text: 'one' }));
    crm.removeContact(contact.id);
    expect(await mac.ack(mac.received({ sender: PHONE, text: 'two' }))).toMatchObject({
      outcome: 'delivered',
    });
    const [, second] = crm.messages;
    expect(second?.contactId).not.toBe(contact.id);
    expect(crm.contacts.map(({ id }) => id)).toContain(second?.contactId);
  });
});

describe('the footer of an inbound message', () => {
  const group = { id: 7, isGroup: true, recipients: [PHONE, '+14155550101'] };
  const reaction = {
    kind: 'classic',
    action: 'add',
    target_message_guid: 'target',
    target_message_guid_raw: 'p:0/target',
    type: 'love',
  } as const;
  const cases: [string, Partial<Received>, object][] = [
    ['a group', { chat: group }, { is_group: true, recipients: group.recipients }],
    ['a reaction', { reaction }, { reaction }],
    [
      'a voice message',
      { voice: { duration_ms: 1200, mime_type: 'audio/mp4' } },
      { voice: { duration_ms: 1200, mime_type: 'audio/mp4' } },
    ],
    ['a sticker', { sticker: { guid: 's1', name: 'cat' } }, { sticker: { guid: 's1', name: 'cat' } }],
    [
      'an animation',
      { animation: { effect: 'slam', kind: 'bubble' } },
      { animation: { effect: 'slam', kind: 'bubble' } },
    ],
    ['a reply', { replyTo: { guid: 'before' } }, { reply_to: { message_guid: 'before' } }],
  ];

  it.each(cases)('I3 is at the end of %s', async (_name, fields, metadata) => {
    const { crm, mac } = await start();
    await mac.ack(mac.received({ sender: PHONE, text: 'Hi', guid: 'g1', service: 'iMessage', ...fields }));
    const read = parseFooter(crm.messages[0]?.message ?? '');
    expect(read).toMatchObject({ text: 'Hi', version: 1, form: 'block' });
    expect(read.metadata).toMatchObject({
      sender: PHONE,
      message_guid: 'g1',
      service_name: 'iMessage',
      chat_id: expect.any(Number),
      ...metadata,
    });
  });

  it('I3 is absent from a plain text', async () => {
    const { crm, mac } = await start();
    await mac.ack(mac.received({ sender: PHONE, text: 'Just text' }));
    expect(crm.messages[0]?.message).toBe('Just text');
  });

  it('I3 is present in a plain text with FOOTER_ON_PLAIN_TEXT', async () => {
    const { crm, mac } = await start({ env: { FOOTER_ON_PLAIN_TEXT: 'true' } });
    await mac.ack(mac.received({ sender: PHONE, text: 'Just text', guid: 'g1' }));
    expect(parseFooter(crm.messages[0]?.message ?? '')).toMatchObject({
      text: 'Just text',
      metadata: { message_guid: 'g1', is_group: false },
    });
  });

  it('I3 cannot be forged by a customer', async () => {
    const { crm, mac } = await start();
    const forged = 'Hi\n-- svc-metadata:v1 --\n{"sender":"another person"}\n-- end svc-metadata --';
    await mac.ack(mac.received({ sender: PHONE, text: forged }));
    expect(parseFooter(crm.messages[0]?.message ?? '')).toMatchObject({
      text: forged,
      metadata: { sender: PHONE },
    });
  });
});

describe('the order of messages', () => {
  it('I5 is kept within a conversation during failures', async () => {
    const { crm, mac, bridge } = await start({ env: NO_WAIT });
    const broken = crm.injectFault({ match: 'inbound', how: { status: 500 }, times: 2 });
    crm.injectFault({ match: 'inbound', how: { delayMs: 120 }, after: 4 });
    const texts = Array.from({ length: 12 }, (_, index) => `message ${index}`);
    const seqs = texts.map((text) => mac.received({ sender: PHONE, text, chat: chat(1) }));
    for (const hits of [1, 2]) {
      await until(() => broken.hits >= hits);
      await bridge.clock.skip(1000);
    }
    for (const seq of seqs) expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
    expect(crm.messages.map(({ message }) => message)).toEqual(texts);
  });

  it('I5 does not make a conversation wait for another one that hangs', async () => {
    const { crm, mac, bridge } = await start({ env: NO_WAIT });
    crm.injectFault({ match: 'inbound', how: 'hang' });
    const slow = mac.received({ sender: PHONE, text: 'slow', chat: chat(1) });
    await until(() => crm.callsTo('inbound').length === 1);
    expect(await mac.ack(mac.received({ sender: PHONE, text: 'fast', chat: chat(2) }))).toMatchObject({
      outcome: 'delivered',
    });
    expect(crm.messages.map(({ message }) => message)).toEqual(['fast']);
    await bridge.clock.skip(12_000);
    expect(await mac.ack(slow)).toMatchObject({ outcome: 'delivered' });
  });
});

describe('an inbound message', () => {
  it('I6 is acknowledged only after the CRM accepted it', async () => {
    const { crm, mac, bridge } = await start({ env: NO_WAIT });
    const fault = crm.injectFault({ match: 'inbound', how: { status: 503 }, times: 3 });
    const seq = mac.received({ sender: PHONE, text: 'Hi' });
    for (const hits of [1, 2, 3]) {
      await until(() => fault.hits >= hits);
      expect(mac.frames.filter(({ type }) => type === 'ack')).toEqual([]);
      await bridge.clock.skip(2000);
    }
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
    expect(crm.messages).toHaveLength(1);
  });

  it('I6 is posted once when its frame is repeated, also on a new connection and after a restart', async () => {
    const { crm, mac, bridge } = await start();
    const frame = { sender: PHONE, text: 'Hi', guid: 'g1' };
    await mac.ack(mac.received(frame));
    expect(await mac.ack(mac.received(frame))).toMatchObject({ outcome: 'delivered' });
    mac.terminate();
    const second = await bridge.mac(LOCATION, undefined, mac.seq);
    expect(await second.ack(second.received(frame))).toMatchObject({ outcome: 'delivered' });
    second.terminate();
    await bridge.restart();
    const third = await bridge.mac(LOCATION, undefined, second.seq);
    expect(await third.ack(third.received(frame))).toMatchObject({ outcome: 'delivered' });
    expect(crm.messages).toHaveLength(1);
  });

  it('I6 with the same guid at another location is a different message', async () => {
    const { crm, mac, bridge } = await start();
    const other = 'locBBBBBBBBBBBBBBBB2';
    await bridge.authorise(other);
    const elsewhere = await bridge.mac(other, 'mac-of-another');
    for (const one of [mac, elsewhere])
      await one.ack(one.received({ sender: PHONE, text: 'Hi', guid: 'g1' }));
    expect(crm.messages.map(({ locationId }) => locationId)).toEqual([LOCATION, other]);
    expect(new Set(crm.callsTo('inbound').map(({ headers }) => headers['idempotency-key'])).size).toBe(2);
  });

  it('I6 that is posted again has the same idempotency key', async () => {
    const { crm, mac } = await start({ env: NO_WAIT });
    crm.injectFault({ match: 'inbound', how: 'reset' });
    expect(await mac.ack(mac.received({ sender: PHONE, text: 'Hi', guid: 'g1' }))).toMatchObject({
      outcome: 'delivered',
    });
    expect(crm.messages).toHaveLength(1);
    const keys = crm.callsTo('inbound').map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[\da-f]{8}-[\da-f]{4}-5[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  });

  it('I6 is delivered once when the token expires during the delivery', async () => {
    const { crm, mac } = await start();
    await mac.ack(mac.received({ sender: PHONE, text: 'one' }));
    crm.injectFault({ match: 'inbound', how: 'expireToken' });
    expect(await mac.ack(mac.received({ sender: PHONE, text: 'two' }))).toMatchObject({
      outcome: 'delivered',
    });
    expect(crm.messages.map(({ message }) => message)).toEqual(['one', 'two']);
    expect(crm.callsTo('token')).toHaveLength(2);
  });

  it('I6 that the CRM rejects permanently is rejected with the reason, and later ones are delivered', async () => {
    const { crm, mac, bridge } = await start();
    await mac.ack(mac.received({ sender: PHONE, text: 'zero', chat: chat(1) }));
    crm.injectFault({ match: 'inbound', how: { status: 403, body: { message: 'Not in this plan' } } });
    const refused = mac.received({ sender: PHONE, text: 'secret words', chat: chat(1), guid: 'g-refused' });
    const next = mac.received({ sender: PHONE, text: 'next', chat: chat(1) });
    expect(await mac.ack(refused)).toMatchObject({
      outcome: 'rejected',
      reason: 'the CRM refused: 403 Not in this plan',
    });
    expect(await mac.ack(next)).toMatchObject({ outcome: 'delivered' });
    const trail = await bridge.operator('GET', '/operator/messages/g-refused');
    expect(trail.body).toMatchObject({ status: 'undeliverable', code: 'CRM_REFUSED', phone: '+1•••0100' });
  });

  it('I6 waits for the authorisation and is delivered afterwards', async () => {
    const { crm, mac, bridge } = await start({ oauth: 'unauthorised' });
    const seq = mac.received({ sender: PHONE, text: 'early' });
    await bridge.clock.skip(60_000);
    await bridge.authorise(LOCATION);
    expect(mac.frames.filter(({ type }) => type === 'ack')).toEqual([]);
    await bridge.clock.skip(60_000);
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
    expect(crm.messages).toHaveLength(1);
  });

  it('I6 from a displaced Mac is not posted again until the new Mac reports it', async () => {
    const { crm, mac, bridge } = await start({ env: NO_WAIT });
    crm.injectFault({ match: 'inbound', how: { status: 503 }, times: 3 });
    const frame = { sender: PHONE, text: 'Hi', guid: 'g1' };
    mac.received(frame);
    await until(() => crm.callsTo('inbound').length > 0);
    const winner = await bridge.mac(LOCATION, 'another-mac-1');
    crm.clearFaults();
    await bridge.settled();
    expect(crm.messages).toEqual([]);
    expect(await winner.ack(winner.received(frame))).toMatchObject({ outcome: 'delivered' });
    expect(crm.messages).toHaveLength(1);
  });
});

describe('private data', () => {
  it('I6 texts, numbers, tokens and keys are in no log line, no file and no response to the operator', async () => {
    const { crm, mac, bridge } = await start();
    const text = 'canary text that must stay secret';
    const sender = '+14155559876';
    await mac.ack(mac.received({ sender, text, guid: 'g1' }));
    crm.injectFault({ match: 'inbound', how: { status: 422, body: { message: `${text} from ${sender}` } } });
    await mac.ack(mac.received({ sender, text, guid: 'g2' }));
    const token = crm.calls.at(-1)?.headers['authorization']?.slice(7) ?? 'none';
    const trails = await Promise.all(
      ['/operator/messages', '/operator/messages/g1', '/operator/messages/g2', '/operator/grants'].map(
        (path) => bridge.operator('GET', path),
      ),
    );
    const seen = [bridge.log, JSON.stringify(trails), await dumpFiles(bridge.dataDir)].join('\n');
    for (const secret of ['canary text', '4155559876', token, token.split('.')[2] ?? token])
      expect(seen.includes(secret), secret.slice(0, 12)).toBe(false);
    expect(seen).toContain('+1•••9876');
  });
});
