import { ed25519Key } from '@footbridge/testkit/keys';
import { afterEach, expect, it } from 'vitest';

import { LOCATION, OTHER_LOCATION, PHONE, TestBridge } from '../contract/test-bridge.ts';
import { checkOperatorResponse } from '../operator-responses.ts';
import { expectGolden, stable } from './golden-file.ts';

let running: TestBridge | undefined;
afterEach(() => running?.stop());

type Fields = Record<string, unknown>;
interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const OPERATOR = '/operator';
const ABSENT = '00000000-0000-4000-8000-000000000000';

it('every call of the operator API responds as recorded', async () => {
  const bridge = await TestBridge.start({ stoppedClock: true });
  running = bridge;
  const names = new Map<string, string>();
  const recorded: Record<string, unknown> = {};

  async function ask(method: string, path: string, body: unknown, token: string): Promise<Answer> {
    const isText = typeof body === 'string';
    const answer = await fetch(bridge.bridge.operatorUrl + path, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body: isText ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json') === true;
    const { status } = answer;
    const content: unknown = isJson ? JSON.parse(text) : text;
    checkOperatorResponse(method, path, status, content);
    return { status, body: content };
  }

  /** Records one response. Returns its body. */
  async function call(line: string, body?: unknown, token = bridge.bridge.operatorToken): Promise<Fields> {
    const [method = '', path = ''] = line.split(' ');
    const answer = await ask(method, path, body, token);
    const name = `${Object.keys(recorded).length + 1} ${String(stable(line, names))}`;
    recorded[name] = stable({ sent: body ?? null, ...answer }, names);
    // Rows of the same moment are in the order of their random ids.
    if (method !== 'GET') await bridge.clock.skip(1000);
    return Object(answer.body);
  }

  await call(`GET ${OPERATOR}/session`);
  await call(`POST ${OPERATOR}/session/codes`);
  await call(`POST ${OPERATOR}/session`, {});
  await call(`POST ${OPERATOR}/session`, { token: 'a-wrong-token' });
  await call(`GET ${OPERATOR}/session`, undefined, 'a-wrong-token');
  await call(`GET ${OPERATOR}/nothing`);
  await call(`POST ${OPERATOR}/licenses`, '{');

  // Licenses and devices.
  for (const body of [
    undefined,
    {},
    { label: '', maxSeats: 1 },
    { label: 'A', maxSeats: 0 },
    { label: 'A', more: 1 },
    [],
  ])
    await call(`POST ${OPERATOR}/licenses`, body);
  const license = await call(`POST ${OPERATOR}/licenses`, { label: 'Agency', maxSeats: 2 });
  const key = String(license['key']);
  const id = String(license['id']);
  const mac = await bridge.connect({ token: await bridge.token('mac-0001', key) });
  await mac.register(LOCATION, { capabilities: ['reach', 'received'] });
  await bridge.clock.skip(1000);
  await bridge.token('mac-0002', key);
  await call(`GET ${OPERATOR}/licenses`);
  await call(`PATCH ${OPERATOR}/licenses/${id}`, { maxSeats: 1 });
  await call(`PATCH ${OPERATOR}/licenses/${id}`, { label: 'Agency North', maxSeats: 3 });
  await call(`PATCH ${OPERATOR}/licenses/${id}`, { status: 'gone' });
  await call(`PATCH ${OPERATOR}/licenses/${id}`, {});
  await call(`PATCH ${OPERATOR}/licenses/${ABSENT}`, { maxSeats: 3 });
  const { devices } = (await call(`GET ${OPERATOR}/devices`)) as {
    devices: { id: string; deviceId: string }[];
  };
  const second = devices.find(({ deviceId }) => deviceId === 'mac-0002')?.id ?? '';
  await call(`POST ${OPERATOR}/devices/${second}/revoke`);
  await call(`POST ${OPERATOR}/devices/${second}/revoke`);
  await call(`POST ${OPERATOR}/devices/${second}/restore`);
  await call(`POST ${OPERATOR}/devices/${ABSENT}/revoke`);
  const ended = await call(`POST ${OPERATOR}/licenses`, { label: 'Ended', maxSeats: 1 });
  await call(`PATCH ${OPERATOR}/licenses/${String(ended['id'])}`, { status: 'revoked' });
  await call(`PATCH ${OPERATOR}/licenses/${String(ended['id'])}`, { status: 'active' });

  // Locations.
  await call(`GET ${OPERATOR}/locations`);
  await call(`PUT ${OPERATOR}/locations/${OTHER_LOCATION}`, { licenseId: id });
  await call(`PUT ${OPERATOR}/locations/${OTHER_LOCATION}`, { licenseId: ABSENT });
  await call(`PUT ${OPERATOR}/locations/${OTHER_LOCATION}`, { licenseId: 7 });
  await call(`POST ${OPERATOR}/locations/${OTHER_LOCATION}/pairing-codes`);
  await call(`POST ${OPERATOR}/locations/locCCCC/pairing-codes`);
  await call(`POST ${OPERATOR}/locations/${OTHER_LOCATION}/disconnect`);
  await call(`POST ${OPERATOR}/locations/locCCCC/disconnect`);

  // Messages.
  await call(`PUT ${OPERATOR}/locations/${LOCATION}/capture`);
  const { answer } = await bridge.webhook({ messageId: 'message-1' });
  const { requestId } = answer as { requestId: string };
  await mac.nextFrame('send');
  mac.confirm(requestId);
  await bridge.clock.skip(1000);
  await mac.ack(mac.status({ requestId, messageId: 'message-1', status: 'delivered' }));
  await bridge.clock.skip(1000);
  bridge.crm.addContact({ locationId: LOCATION, phone: PHONE });
  await mac.ack(mac.received({ sender: PHONE, text: 'Hi', guid: 'GUID-1' }));
  await bridge.journalled(requestId, 'status_sent');
  await bridge.clock.skip(1000);
  await call(`GET ${OPERATOR}/messages`);
  await call(`GET ${OPERATOR}/messages?status=&limit=1&direction=outbound&locationId=${LOCATION}`);
  for (const query of [
    'limit=0',
    'limit=x',
    'direction=up',
    'from=yesterday',
    'more=1',
    `code=${'x'.repeat(257)}`,
  ])
    await call(`GET ${OPERATOR}/messages?${query}`);
  await call(`GET ${OPERATOR}/messages/${requestId}`);
  await call(`GET ${OPERATOR}/messages/GUID-1?all=true`);
  await call(`GET ${OPERATOR}/messages/GUID-1?all=no`);
  await call(`GET ${OPERATOR}/messages/${ABSENT}`);
  await call(`POST ${OPERATOR}/messages/${requestId}/redeliver`);
  await call(`POST ${OPERATOR}/messages/${ABSENT}/redeliver`);
  await call(`DELETE ${OPERATOR}/locations/${LOCATION}/capture`);
  await call(`DELETE ${OPERATOR}/locations/${LOCATION}/capture`);
  const asked = call(`GET ${OPERATOR}/locations/${LOCATION}/reach?phone=${encodeURIComponent(PHONE)}`);
  const { requestId: reachId } = await mac.nextFrame('reach_request');
  mac.send({
    type: 'reach_result',
    requestId: reachId,
    reach: 'SMS',
    reason: 'The person last wrote by it.',
  });
  await asked;
  await call(`GET ${OPERATOR}/locations/${LOCATION}/reach?phone=x`);
  await call(`GET ${OPERATOR}/locations/${LOCATION}/reach`);
  await call(`GET ${OPERATOR}/locations/${OTHER_LOCATION}/reach?phone=${encodeURIComponent(PHONE)}`);
  await call(`GET ${OPERATOR}/locations/${LOCATION}/crm-check`);
  await call(`GET ${OPERATOR}/assets`);
  await call(`GET ${OPERATOR}/assets?locationId=${LOCATION}`);
  await call(`GET ${OPERATOR}/assets?locationId=a&locationId=b`);

  // What the operator watches.
  await call(`GET ${OPERATOR}/overview`);
  await call(`GET ${OPERATOR}/tenants`);
  await call(`GET ${OPERATOR}/tenants?search=BBBB&limit=1`);
  await call(`GET ${OPERATOR}/tenants?limit=0`);
  await call(`GET ${OPERATOR}/issues?state=closed`);
  await call(`GET ${OPERATOR}/issues?state=other`);
  await call(`GET ${OPERATOR}/alerts`);
  await call(`POST ${OPERATOR}/alerts/test`);
  await call(`GET ${OPERATOR}/crm-app`);
  await call(`GET ${OPERATOR}/diagnosis`);

  // Opt-outs and privacy.
  await call(`PUT ${OPERATOR}/locations/${LOCATION}/opt-outs`, { phone: PHONE, optedOut: true });
  await call(`PUT ${OPERATOR}/locations/${LOCATION}/opt-outs`, { phone: 'x', optedOut: true });
  await call(`PUT ${OPERATOR}/locations/${LOCATION}/opt-outs`, { phone: PHONE });
  await call(`GET ${OPERATOR}/opt-outs?limit=2000`);
  await call(`GET ${OPERATOR}/opt-outs?phone=x`);
  await call(`GET ${OPERATOR}/opt-outs?cursor=x`);
  await call(`POST ${OPERATOR}/locations/${LOCATION}/opt-outs/import`, { numbers: [PHONE, 'x'] });
  await call(`POST ${OPERATOR}/locations/${LOCATION}/opt-outs/import`, { key: 'other', hashes: [] });
  await call(`POST ${OPERATOR}/locations/${LOCATION}/opt-outs/import`, { numbers: 'x' });
  await call(`POST ${OPERATOR}/privacy/export`, { phone: PHONE });
  await call(`POST ${OPERATOR}/privacy/export`, { phone: 'x' });
  await call(`POST ${OPERATOR}/privacy/export`, { phone: PHONE, limit: 0 });
  await call(`GET ${OPERATOR}/privacy/retention`);
  await call(`PUT ${OPERATOR}/privacy/retention/${LOCATION}`, { journalDays: 10, assetDays: null });
  await call(`PUT ${OPERATOR}/privacy/retention/${LOCATION}`, { journalDays: 0, assetDays: null });
  await call(`PUT ${OPERATOR}/privacy/retention/${LOCATION}`, { journalDays: 1 });
  await call(`GET ${OPERATOR}/privacy/retention`);
  await call(`POST ${OPERATOR}/privacy/erase`, { phone: PHONE });
  await call(`POST ${OPERATOR}/privacy/erase`, {});

  // Tokens and keys.
  await call(`GET ${OPERATOR}/grants`);
  await call(`PUT ${OPERATOR}/locations/${OTHER_LOCATION}/private-token`, { token: 'a b' });
  await call(`PUT ${OPERATOR}/locations/${OTHER_LOCATION}/private-token`, { token: 'pit-0123456789' });
  await call(`GET ${OPERATOR}/grants`);
  await call(`DELETE ${OPERATOR}/locations/${OTHER_LOCATION}/private-token`);
  await call(`DELETE ${OPERATOR}/locations/${OTHER_LOCATION}/private-token`);
  await call(`DELETE ${OPERATOR}/grants/${OTHER_LOCATION}`);
  const { scheme, header, publicKey } = ed25519Key('other');
  names.set(publicKey, '<public key>');
  const fixed = (await ask('GET', `${OPERATOR}/keys`, undefined, bridge.bridge.operatorToken)).body as {
    keys: { fingerprint: string; publicKey: string; id: string }[];
  };
  for (const one of fixed.keys) {
    names.set(one.id, '<fixed key>');
    names.set(one.fingerprint, '<fingerprint>');
    names.set(JSON.stringify(one.publicKey).slice(1, -1), '<public key>');
  }
  await call(`POST ${OPERATOR}/keys`, { label: 'Other', scheme, header, publicKey: 'nonsense' });
  await call(`POST ${OPERATOR}/keys`, { label: 'Other', scheme, header });
  await call(`POST ${OPERATOR}/keys`, { preset: 'nonsense' });
  const added = await ask(
    'POST',
    `${OPERATOR}/keys`,
    { label: 'Other', scheme, header, publicKey },
    bridge.bridge.operatorToken,
  );
  const keyId = String(Object(added.body)['id']);
  names.set(String(Object(added.body)['fingerprint']), '<fingerprint>');
  await call(`POST ${OPERATOR}/keys`, { label: 'Other', scheme, header, publicKey });
  await call(`GET ${OPERATOR}/keys`);
  await call(`PATCH ${OPERATOR}/keys/${keyId}`, { enabled: false });
  await call(`PATCH ${OPERATOR}/keys/${keyId}`, { enabled: 'no' });
  await call(`PATCH ${OPERATOR}/keys/${ABSENT}`, { enabled: false });
  await call(`DELETE ${OPERATOR}/keys/${keyId}`);
  await call(`DELETE ${OPERATOR}/keys/${keyId}`);
  await call(`DELETE ${OPERATOR}/keys/${fixed.keys[0]?.id ?? ''}`);
  await bridge.post({ locationId: LOCATION }, { signature: 'bm90IGEgc2lnbmF0dXJl' });
  await call(`GET ${OPERATOR}/keys/rejections`);
  await call(`POST ${OPERATOR}/keys/diagnose`, { body: 'e30=', signature: 'x' });
  await call(`POST ${OPERATOR}/keys/diagnose`, { body: '!', signature: 'x' });

  // Operator tokens: what they may call.
  await call(`POST ${OPERATOR}/tokens`, { label: ' ' });
  await call(`POST ${OPERATOR}/tokens`, { label: 'A', locations: [] });
  const readOnly = await call(`POST ${OPERATOR}/tokens`, { label: 'Reader', readOnly: true });
  const limited = await call(`POST ${OPERATOR}/tokens`, { label: 'Branch', locations: [OTHER_LOCATION] });
  await call(`GET ${OPERATOR}/tokens`);
  const gets = [
    'assets',
    'audit',
    'devices',
    'grants',
    'issues',
    'keys',
    'licenses',
    'locations',
    'messages',
    'opt-outs',
    'privacy/retention',
    'tenants',
    'tokens',
  ];
  for (const path of gets) {
    await call(`GET ${OPERATOR}/${path}`, undefined, String(readOnly['token']));
    await call(`GET ${OPERATOR}/${path}`, undefined, String(limited['token']));
  }
  await call(`PUT ${OPERATOR}/locations/${LOCATION}/capture`, undefined, String(readOnly['token']));
  await call(`PUT ${OPERATOR}/locations/${LOCATION}/capture`, undefined, String(limited['token']));
  await call(`GET ${OPERATOR}/locations/${LOCATION}/crm-check`, undefined, String(limited['token']));
  await call(`DELETE ${OPERATOR}/tokens/${String(limited['id'])}`);
  await call(`DELETE ${OPERATOR}/tokens/${ABSENT}`);
  await call(`DELETE ${OPERATOR}/grants/${LOCATION}`);
  await call(`GET ${OPERATOR}/audit?limit=3`);
  await call(`GET ${OPERATOR}/audit?limit=0`);
  await call(`DELETE ${OPERATOR}/session`);

  expect(Object.keys(recorded).length).toBeGreaterThan(120);
  expectGolden('operator-calls', recorded);
});
