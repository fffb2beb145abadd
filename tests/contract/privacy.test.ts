import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import type { Mac } from '@footbridge/testkit/mac';
import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import { GOOD, LOCATION, OTHER_LOCATION, PHONE, bridges } from './test-bridge.ts';
import type { Json, TestBridge } from './test-bridge.ts';

const start = bridges();
const OTHER_PHONE = '+14155550177';
const PERSON = { phone: '(415) 555-0100' };
const EXPORT = '/operator/privacy/export';
const ERASE = '/operator/privacy/erase';

interface Exported extends Json {
  readonly messages: readonly Json[];
  readonly files: readonly { readonly url: string }[];
  readonly contacts: readonly Json[];
  readonly optOuts: readonly Json[];
}

async function exported(bridge: TestBridge, body: object = PERSON): Promise<Exported> {
  const answer = await bridge.operator('POST', EXPORT, body);
  expect(answer.status).toBe(200);
  return answer.body as Exported;
}

async function upload(bridge: TestBridge, token: string, content: string): Promise<string> {
  const answer = await fetch(`${bridge.url}/mac/assets`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'X-File-Name': 'note.txt' },
    body: content,
  });
  return ((await answer.json()) as { url: string }).url;
}

async function deliver(mac: Mac, fields: Parameters<Mac['received']>[0]): Promise<void> {
  expect(await mac.ack(mac.received({ text: 'Hello', ...fields }), 60_000)).toMatchObject({
    outcome: 'delivered',
  });
}

/** A person who got a text, sent one with a file, and opted out; and another person who did the same. */
async function withTwoPeople(): Promise<{
  bridge: TestBridge;
  mac: Mac;
  token: string;
  files: string[];
}> {
  const bridge = await start({});
  const token = await bridge.token();
  const mac = await bridge.connect({ token });
  await mac.register(LOCATION);
  const files: string[] = [];
  for (const phone of [PHONE, OTHER_PHONE]) {
    expect(
      (
        await bridge.post({
          ...GOOD,
          phone,
          contactId: `contact${phone.slice(-4)}`,
          messageId: `to${phone.slice(-4)}`,
        })
      ).status,
    ).toBe(200);
    files.push(await upload(bridge, token, `the file of ${phone.slice(-4)}`));
    await deliver(mac, { sender: phone, attachments: files.slice(-1) });
    await bridge.operator('PUT', `/operator/locations/${LOCATION}/opt-outs`, { phone, optedOut: true });
  }
  return { bridge, mac, token, files };
}

it('finds and erases a rejected message whose number has no country code', async () => {
  const bridge = await start({});
  const phone = '(415) 555-0188';
  await bridge.post({ ...GOOD, phone, message: 'x'.repeat(20_001) });
  for (const spelling of [phone, '4155550188', '+14155550188']) {
    const path = `/operator/messages?phone=${encodeURIComponent(spelling)}`;
    await until(async () => ((await bridge.operator('GET', path)).body['messages'] as Json[]).length === 1);
  }
  expect((await exported(bridge, { phone })).messages).toHaveLength(1);
  expect((await bridge.operator('POST', ERASE, { phone })).body).toMatchObject({ messages: 1 });
});

describe('a sender whose Mac reports no country code', () => {
  const data = async (bridge: TestBridge, phone: string) => {
    const { messages, files, contacts, optOuts } = await exported(bridge, { phone });
    return [messages.length, files.length, contacts.length, optOuts.length];
  };

  it.each([
    ['US', '(415) 555-0188', '+14155550188'],
    ['US', '1 (415) 555-0188', '+14155550188'],
    ['US', '4155550188(smsfp)', '+14155550188'],
    ['DE', '0171 1234567', '+491711234567'],
    ['US', 'Anna@Example.COM', 'anna@example.com'],
  ])('is exported and erased (%s, %s)', async (country, sender, phone) => {
    const bridge = await start({ env: { PHONE_DEFAULT_COUNTRY: country } });
    const token = await bridge.token();
    const mac = await bridge.connect({ token });
    await mac.register(LOCATION);
    await deliver(mac, { sender, attachments: [await upload(bridge, token, 'a file')] });
    expect(await data(bridge, phone)).toEqual([1, 1, 1, 0]);
    const erased = await bridge.operator('POST', ERASE, { phone });
    expect(erased.body).toMatchObject({ messages: 1, files: 1 });
    expect(await data(bridge, phone)).toEqual([0, 0, 0, 0]);
  });

  it.each([
    ['090-1234-5678', '+919012345678'],
    ['0171 1234567', '+491711234567'],
    ['Bank 72345', '72345'],
  ])(
    'is not exported or erased with another person who may have the same digits (%s, %s)',
    async (sender, phone) => {
      const bridge = await start({});
      const mac = await bridge.mac();
      await deliver(mac, { sender });
      expect(await data(bridge, phone)).toEqual([0, 0, 0, 0]);
      expect((await bridge.operator('POST', ERASE, { phone })).body).toMatchObject({ messages: 0 });
    },
  );

  it('is one person with the recipient of texts: contact, opt-out and search', async () => {
    const bridge = await start({ env: { OPT_OUT_ENFORCED: 'true', OPT_OUT_WORDS: 'true' } });
    const mac = await bridge.mac();
    const phone = '+14155550188';
    await deliver(mac, { sender: '(415) 555-0188', text: 'STOP' });
    expect((await bridge.post({ ...GOOD, phone })).json).toMatchObject({ code: 'OPTED_OUT' });
    expect(await data(bridge, phone)).toEqual([2, 0, 1, 1]);
    await deliver(mac, { sender: '(415) 555-0188', text: 'START' });
    expect((await bridge.post({ ...GOOD, phone, messageId: 'later' })).status).toBe(200);
    for (const spelling of [phone, '4155550188'])
      expect(await data(bridge, spelling)).toMatchObject([4, 0, 2, 0]);
    const { body } = await bridge.operator('GET', `/operator/messages?phone=${encodeURIComponent(phone)}`);
    expect((body['messages'] as Json[]).map(({ phone: shown }) => shown)).toEqual(
      Array.from({ length: 4 }, () => '+1•••0188'),
    );
  });
});

describe('the data of one person', () => {
  it('is exported: messages, files, contacts and opt-outs, and nothing of others', async () => {
    const { bridge, files } = await withTwoPeople();
    const data = await exported(bridge);
    expect(data.messages.map(({ direction }) => String(direction)).toSorted()).toEqual([
      'inbound',
      'outbound',
    ]);
    expect(data.messages.every(({ phone }) => String(phone).endsWith('0100'))).toBe(true);
    expect(data.messages[0]).toMatchObject({
      steps: expect.arrayContaining([expect.any(Object)]),
      text: null,
    });
    expect(data).toMatchObject({
      files: [{ url: files[0], locationId: LOCATION, contentType: 'text/plain' }],
      optOuts: [{ locationId: LOCATION, source: 'operator' }],
      cursor: null,
    });
    expect(data.contacts).toHaveLength(2);
    expect(await exported(bridge, { phone: '+14155559999' })).toMatchObject({
      messages: [],
      files: [],
      contacts: [],
      optOuts: [],
    });
  });

  it('is exported page by page, and by location', async () => {
    const { bridge } = await withTwoPeople();
    const first = await exported(bridge, { ...PERSON, limit: 1 });
    const rest = await exported(bridge, { ...PERSON, limit: 1, cursor: first['cursor'] });
    expect([first.messages.length, rest.messages.length, rest['cursor']]).toEqual([1, 1, null]);
    expect(rest.files).toBeUndefined();
    expect((await exported(bridge, { ...PERSON, locationId: OTHER_LOCATION })).messages).toEqual([]);
  });

  it('is erased, except for the opt-out, and the data of others stays', async () => {
    const { bridge, mac, files } = await withTwoPeople();
    const searches = () => bridge.crm.callsTo('duplicate').length;
    const before = searches();
    await deliver(mac, { sender: OTHER_PHONE });
    expect(searches()).toBe(before);

    expect((await bridge.operator('POST', ERASE, PERSON)).body).toEqual({
      messages: 2,
      files: 1,
      optOutsKept: 1,
    });
    const data = await exported(bridge);
    expect(data).toMatchObject({
      messages: [],
      files: [],
      contacts: [],
      optOuts: [{ locationId: LOCATION }],
    });
    expect((await fetch(files[0] ?? '')).status).toBe(404);
    expect(await (await fetch(files[1] ?? '')).text()).toBe('the file of 0177');
    const stored = readdirSync(join(bridge.dataDir, 'assets'), { recursive: true, withFileTypes: true });
    expect(stored.filter((file) => file.isFile())).toHaveLength(1);
    const other = await exported(bridge, { phone: OTHER_PHONE });
    expect([other.messages.length, other.files.length]).toEqual([3, 1]);
    await deliver(mac, { sender: OTHER_PHONE });
    expect(searches()).toBeGreaterThan(before);
    expect((await bridge.operator('POST', ERASE, PERSON)).body).toMatchObject({ messages: 0, files: 0 });
  });

  it('is erased from the captured texts too, with those of others: they are not kept by person', async () => {
    const { bridge, mac } = await withTwoPeople();
    await bridge.operator('PUT', `/operator/locations/${LOCATION}/capture`);
    for (const sender of [PHONE, OTHER_PHONE])
      await deliver(mac, { sender, text: `Text of ${sender.slice(-4)}` });
    const texts = async (phone: string) =>
      (await exported(bridge, { phone })).messages.map(({ text }) => text);
    expect(await texts(PHONE)).toContain('Text of 0100');
    expect(await texts(OTHER_PHONE)).toContain('Text of 0177');
    await bridge.operator('POST', ERASE, PERSON);
    expect(await texts(OTHER_PHONE)).toEqual([null, null, null]);
  });

  it('leaves an audit entry for each export and erasure, without the number', async () => {
    const { bridge } = await withTwoPeople();
    await exported(bridge);
    await bridge.operator('POST', ERASE, { ...PERSON, locationId: LOCATION });
    const { body } = await bridge.operator('GET', '/operator/audit?limit=3');
    expect(body['entries']).toMatchObject([
      { action: 'privacy.erased', target: LOCATION, detail: { messages: 2, files: 1, optOutsKept: 1 } },
      { action: 'privacy.erase_requested', target: LOCATION, name: 'Operator' },
      { action: 'privacy.exported', target: '*' },
    ]);
    const rows = ['audit', 'changes', 'assets', 'suppressions'].map((table) =>
      bridge.rows(`select * from ${table}`),
    );
    expect(JSON.stringify(rows) + bridge.log).not.toMatch(/4155550100|555-0100/);
  });

  it('is rejected for a number that is not one, for a read-only token, and for locations of others', async () => {
    const { bridge } = await withTwoPeople();
    for (const path of [EXPORT, ERASE])
      for (const body of [undefined, {}, { phone: 'Jo Doe' }, { phone: 7 }, { ...PERSON, all: true }])
        expect((await bridge.operator('POST', path, body)).status).toBe(400);
    const as = async (options: object, path: string, more = {}) => {
      const { body } = await bridge.operator('POST', '/operator/tokens', { label: 'Other', ...options });
      const answer = await fetch(bridge.bridge.operatorUrl + path, {
        method: 'POST',
        headers: { Authorization: `Bearer ${String(body['token'])}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ ...PERSON, ...more }),
      });
      return { status: answer.status, body: (await answer.json()) as Json };
    };
    expect((await as({ readOnly: true }, EXPORT)).status).toBe(403);
    expect((await as({ locations: [OTHER_LOCATION] }, EXPORT)).body).toMatchObject({
      messages: [],
      contacts: [],
    });
    const limited = { locations: [OTHER_LOCATION] };
    expect(await as(limited, ERASE)).toMatchObject({
      status: 403,
      body: { message: 'This token covers some locations only. Name one of them in locationId.' },
    });
    expect((await as(limited, ERASE, { locationId: LOCATION })).status).toBe(403);
    expect((await as(limited, ERASE, { locationId: OTHER_LOCATION })).body).toMatchObject({ messages: 0 });
    expect((await exported(bridge)).messages).toHaveLength(2);
  });
});

describe('the retention of a location', () => {
  const DAY = 86_400_000;
  const RETENTION = `/operator/privacy/retention/${LOCATION}`;

  it('deletes its journal and files earlier than those of others, also files that were stored before', async () => {
    const { bridge, token, files } = await withTwoPeople();
    await bridge.mac(OTHER_LOCATION);
    await bridge.post({ ...GOOD, locationId: OTHER_LOCATION });
    const set = await bridge.operator('PUT', RETENTION, { journalDays: 1, assetDays: 1 });
    expect(set.body).toEqual({ locationId: LOCATION, journalDays: 1, assetDays: 1 });
    files.push(await upload(bridge, token, 'stored later'));
    const messages = async () => {
      const { body } = await bridge.operator('GET', '/operator/messages');
      return (body['messages'] as { locationId: string }[]).map(({ locationId }) => locationId);
    };
    expect(await messages()).toHaveLength(5);
    bridge.clock.freeze(1.1 * DAY);
    await until(async () => (await messages()).length < 5, { what: 'the pruning' });
    expect(await messages()).toEqual([OTHER_LOCATION]);
    for (const url of files) expect((await fetch(url)).status).toBe(404);
  });

  it('is listed and audited, rejects other values, and ends when both are null', async () => {
    const bridge = await start({});
    for (const body of [
      {},
      { journalDays: 0, assetDays: 1 },
      { journalDays: 1.5, assetDays: 1 },
      { journalDays: 1 },
    ])
      expect((await bridge.operator('PUT', RETENTION, body)).status).toBe(400);
    const list = async () => (await bridge.operator('GET', '/operator/privacy/retention')).body;
    expect(await list()).toEqual({ defaults: { journalDays: 30, assetDays: 90 }, locations: [] });
    await bridge.operator('PUT', RETENTION, { journalDays: 2, assetDays: null });
    expect((await list())['locations']).toEqual([{ locationId: LOCATION, journalDays: 2, assetDays: null }]);
    const audit = await bridge.operator('GET', '/operator/audit?limit=1');
    expect(audit.body['entries']).toMatchObject([
      { action: 'retention.changed', target: LOCATION, detail: { journalDays: 2, assetDays: null } },
    ]);
    await bridge.operator('PUT', RETENTION, { journalDays: null, assetDays: null });
    expect((await list())['locations']).toEqual([]);
  });
});
