import { changesSomething } from '@footbridge/protocol/operator/call';
import { OPERATOR_CALLS } from '@footbridge/protocol/operator/calls';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { ed25519Key } from '@footbridge/testkit/keys';
import { afterEach, expect, it } from 'vitest';

import { LOCATION, OTHER_LOCATION, PHONE, TestBridge } from '../contract/test-bridge.ts';
import type { Json } from '../contract/test-bridge.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

/** A read-only token may sign a browser in and out. */
const OWN_SESSION = new Set(['DELETE /operator/session', 'POST /operator/session/codes']);
const NOT_IN_TABLE = [...OWN_SESSION, 'GET /operator/session', 'GET /operator/events'].map((name) => {
  const [method = '', path = ''] = name.split(' ');
  return { method, path, name, isReading: true, locations: 'filtered', mustName: false };
});
/** Every call of the operator API (tests/wire-docs.test.ts), and what a token needs for it. */
const CALLS = [
  ...NOT_IN_TABLE,
  ...OPERATOR_CALLS.map((one) => ({
    method: one.method,
    path: one.path,
    name: `${one.method} ${one.path}`,
    isReading: one.method === 'GET',
    locations: one.locations,
    // An absent location would mean all of them.
    mustName: changesSomething(one) && JSON.stringify(one.body ?? {}).includes('"locationId"'),
  })),
];

const { scheme, header, publicKey } = ed25519Key('other');
const PERSON = { phone: PHONE };
/** A valid body of each call that needs one, about the other tenant where it names a location. */
const BODIES: Readonly<Record<string, unknown>> = {
  'POST /operator/tokens': { label: 'Mine' },
  'POST /operator/licenses': { label: 'Mine', maxSeats: 1 },
  'PATCH /operator/licenses/:id': { maxSeats: 9 },
  'PUT /operator/locations/:locationId': { licenseId: null },
  'PUT /operator/locations/:locationId/name': { name: 'Mine' },
  'PUT /operator/locations/:locationId/opt-outs': { ...PERSON, optedOut: false },
  'POST /operator/locations/:locationId/opt-outs/import': { numbers: ['+14155550123'] },
  'POST /operator/privacy/export': { ...PERSON, locationId: LOCATION },
  'POST /operator/privacy/erase': { ...PERSON, locationId: LOCATION },
  'PUT /operator/privacy/retention/:locationId': { journalDays: 1, assetDays: 1 },
  'PUT /operator/locations/:locationId/private-token': { token: 'pit-0123456789' },
  'POST /operator/keys': { label: 'Mine', scheme, header, publicKey },
  'PATCH /operator/keys/:id': { enabled: false },
  'POST /operator/keys/diagnose': { body: 'e30=', signature: 'x' },
};
const QUERIES: Readonly<Record<string, string>> = {
  'GET /operator/locations/:locationId/reach': `?phone=${encodeURIComponent(PHONE)}`,
};

/** A tenant with one of everything, and two tokens that must not change it. */
async function start() {
  const bridge = await TestBridge.start({ stoppedClock: true });
  cleanup.add(() => bridge.stop());
  const { operatorUrl, operatorToken } = bridge.bridge;

  async function ask(method: string, path: string, body?: unknown, token = operatorToken) {
    const stop = new AbortController();
    const answer = await fetch(operatorUrl + path, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: stop.signal,
    });
    if (answer.headers.get('content-type') === 'text/event-stream') {
      stop.abort();
      return { status: answer.status, text: '' };
    }
    return { status: answer.status, text: await answer.text() };
  }
  const get = async (path: string) => JSON.parse((await ask('GET', path)).text) as Json;

  const license = await bridge.createLicense();
  const mac = await bridge.connect({ token: await bridge.token('mac-0001', license.key) });
  await mac.register(LOCATION);
  await ask('PUT', `/operator/locations/${LOCATION}/capture`);
  const { answer } = await bridge.webhook({ messageId: 'message-1' });
  const { requestId } = answer as { requestId: string };
  expect(await mac.ack(mac.received({ sender: PHONE, text: 'Captured text', guid: 'GUID-1' }))).toMatchObject(
    {
      outcome: 'delivered',
    },
  );
  await bridge.journalled(requestId, 'status_sent');
  await ask('PUT', `/operator/locations/${LOCATION}/opt-outs`, { ...PERSON, optedOut: true });
  await ask('PUT', `/operator/privacy/retention/${LOCATION}`, { journalDays: 20, assetDays: null });
  await ask('PUT', `/operator/locations/${LOCATION}/name`, { name: 'Smile Dental' });
  const kept = JSON.parse((await ask('POST', '/operator/tokens', { label: 'Kept' })).text) as { id: string };
  const { devices } = (await get('/operator/devices')) as { devices: { id: string }[] };
  const { keys } = (await get('/operator/keys')) as { keys: { id: string }[] };
  const ids: Record<string, string> = {
    tokens: kept.id,
    licenses: license.id,
    devices: devices[0]?.id ?? '',
    keys: keys[0]?.id ?? '',
    messages: 'GUID-1',
  };
  const pathOf = (path: string) =>
    path
      .replace(':locationId', LOCATION)
      .replace(/(\w+)\/:id/, (_all, kind: string) => `${kind}/${ids[kind] ?? ''}`);

  /** What the tenant has, including what is only in the memory of the service. */
  const state = async () => {
    const lists = ['devices', 'grants', 'keys', 'licenses', 'opt-outs', 'privacy/retention', 'tokens'];
    const shown = await Promise.all(lists.map((list) => get(`/operator/${list}`)));
    const { contacts } = JSON.parse((await ask('POST', '/operator/privacy/export', PERSON)).text) as Json;
    const { text, capturedUntil } = await get('/operator/messages/GUID-1');
    const { messages } = await get('/operator/messages');
    const { locations } = (await get('/operator/locations')) as { locations: Json[] };
    return {
      shown,
      contacts,
      text,
      capturedUntil,
      messages,
      licenses: locations.map((one) => one['licenseId']),
      names: locations.map((one) => one['name']),
    };
  };
  const createToken = async (more: Json) => {
    const { text } = await ask('POST', '/operator/tokens', { label: 'Other', ...more });
    return String((JSON.parse(text) as Json)['token']);
  };
  const call = (one: (typeof CALLS)[number], token: string) =>
    ask(one.method, pathOf(one.path) + (QUERIES[one.name] ?? ''), BODIES[one.name], token);
  return { ask, call, createToken, state, license, requestId };
}

it('T70 a read-only token changes nothing, with any call', async () => {
  const { call, createToken, state } = await start();
  const token = await createToken({ readOnly: true });
  const before = await state();
  expect(CALLS.length).toBeGreaterThan(45);
  for (const one of CALLS) {
    const { status, text } = await call(one, token);
    expect([one.name, status === 403]).toEqual([one.name, !one.isReading]);
    if (status === 403) expect(text).toContain('This token is read-only.');
  }
  expect(await state()).toEqual(before);
});

it('T70 a token of another location neither changes nor sees anything of a tenant, with any call', async () => {
  const { ask, call, createToken, state, license, requestId } = await start();
  const token = await createToken({ locations: [OTHER_LOCATION, 'locCCCC'] });
  const before = await state();
  expect(before).toMatchObject({
    text: 'Captured text',
    contacts: expect.arrayContaining([expect.anything()]),
    names: ['Smile Dental'],
  });
  const secrets = [
    LOCATION,
    license.id,
    requestId,
    'message-1',
    'mac-0001',
    '0100',
    'Captured',
    'contact',
    'Smile',
  ];
  for (const one of CALLS) {
    const { status, text } = await call(one, token);
    expect([one.name, status === 403]).toEqual([one.name, one.locations !== 'filtered' || one.mustName]);
    if (status === 403) expect(JSON.parse(text)).toMatchObject({ code: 'FORBIDDEN', message: /^This token/ });
    else if (one.name !== 'POST /operator/privacy/export')
      expect([one.name, secrets.filter((secret) => text.includes(secret))]).toEqual([one.name, []]);
    else expect(JSON.parse(text)).toMatchObject({ contacts: [], messages: [], optOuts: [], files: [] });
  }
  for (const [body, status] of [
    [PERSON, 403],
    [{ ...PERSON, locationId: '' }, 403],
    [{ ...PERSON, locationId: OTHER_LOCATION }, 200],
  ] as const)
    expect((await ask('POST', '/operator/privacy/erase', body, token)).status).toBe(status);
  expect(await state()).toEqual(before);
});

it('T70 a token of a location can use every call that the table allows it', async () => {
  const { call, createToken } = await start();
  const token = await createToken({ locations: [LOCATION] });
  for (const one of CALLS.filter(({ path }) => !path.endsWith('/reach')))
    expect([one.name, (await call(one, token)).status === 403]).toEqual([one.name, one.locations === 'none']);
});
