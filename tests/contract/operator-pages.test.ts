import { OPERATOR_CALLS } from '@footbridge/protocol/operator/calls';
import { ed25519Key } from '@footbridge/testkit/keys';
import { until } from '@footbridge/testkit/until';
import { expect, it } from 'vitest';

import { bridges } from './test-bridge.ts';
import type { Json } from './test-bridge.ts';

const start = bridges();
const COUNT = 5;

/** A bridge with five of everything that a list shows. */
async function withEntries() {
  const bridge = await start();
  const ask = async (method: string, path: string, body?: unknown) => {
    const { status, body: response } = await bridge.operator(method, path, body);
    expect(status, path).toBeLessThan(300);
    return response;
  };
  const { id, key } = await bridge.createLicense(COUNT);
  for (let count = 0; count < COUNT; count++) {
    const [owned, granted] = [`loc-${count}`, `granted-${count}`];
    if (count > 0) await bridge.createLicense();
    await bridge.authorise(granted);
    await ask('PUT', `/operator/locations/${owned}`, { licenseId: id });
    const mac = await bridge.connect({ token: await bridge.token(`mac-000${count}`, key) });
    await mac.register(owned);
    // Two of them are connected, the others have an issue.
    if (count > 1) mac.terminate();
    await ask('PUT', `/operator/privacy/retention/${owned}`, { journalDays: 1, assetDays: null });
    await ask('PUT', `/operator/locations/${owned}/private-token`, { token: `pit-0123456789${count}` });
    await ask('POST', '/operator/tokens', { label: `Token ${count}` });
    const { scheme, header, publicKey } = ed25519Key(`other ${count}`);
    await ask('POST', '/operator/keys', { label: `Key ${count}`, scheme, header, publicKey });
  }
  await until(async () => (await bridge.metric('footbridge_macs_bound')) === 2);
  return { bridge, ask };
}

const LISTS = OPERATOR_CALLS.filter(
  ({ query, response }) =>
    query !== undefined &&
    Object.hasOwn(query.properties, 'after') &&
    Object.hasOwn(response?.properties ?? {}, 'next'),
).map(({ path }) => path);

/** The entries of all lists of a response, in their order. */
const entriesOf = (body: Json): unknown[] =>
  Object.values(body).flatMap((value) => (Array.isArray(value) ? value : []));

const nextQuery = ({ next }: { readonly next?: string }): string =>
  next === undefined ? '' : `&after=${encodeURIComponent(next)}`;

const idOf = (entry: unknown): string => {
  const { id, locationId, ownerId, kind } = entry as Record<string, unknown>;
  return [id ?? ownerId ?? locationId, kind].join(' ');
};

it('T65 the pages of every list of the operator have each entry once', async () => {
  const { bridge, ask } = await withEntries();
  expect(LISTS.length).toBeGreaterThan(7);
  for (const path of LISTS) {
    const whole = await ask('GET', path);
    expect(whole, path).not.toHaveProperty('next');
    const all = entriesOf(whole).map(idOf);
    if (path !== '/operator/issues') expect(all.length, path).toBeGreaterThanOrEqual(COUNT);
    const walked: string[] = [];
    let query = '';
    do {
      const page = await ask('GET', `${path}?limit=2${query}`);
      const entries = entriesOf(page);
      // The key of the settings is on the first page besides.
      expect(entries.length, path).toBeLessThanOrEqual(path === '/operator/keys' ? 3 : 2);
      walked.push(...entries.map(idOf));
      query = nextQuery(page);
    } while (query !== '');
    expect(walked.toSorted(), path).toEqual(all.toSorted());
  }
  expect(bridge.log).not.toContain('"level":"error"');
});

it.each(['x', '.', '1.', '1.a b', 'stored.', 'stored.\0', `9999999999999999.${'a'.repeat(9)}`])(
  'T65 a page after the invented place %j is rejected',
  async (after) => {
    const bridge = await start();
    for (const path of LISTS) {
      const { status, body } = await bridge.operator('GET', `${path}?after=${encodeURIComponent(after)}`);
      expect([path, status, body['code']]).toEqual([path, 400, 'INVALID_REQUEST']);
      expect(body['message']).toMatch(/^after: /);
    }
  },
);

it.each(['limit=0', 'limit=1001', 'limit=x', 'limit=1.5'])(
  'T65 a page with %s is rejected',
  async (query) => {
    const bridge = await start();
    for (const path of LISTS.filter((one) => one !== '/operator/tenants'))
      expect((await bridge.operator('GET', `${path}?${query}`)).status, path).toBe(400);
  },
);

it('T65 a token for some locations reads only the pages of those', async () => {
  const bridge = await start();
  const { id: licenseId } = await bridge.createLicense();
  for (const id of ['loc-1', 'loc-2', 'loc-3', 'loc-4'])
    await bridge.operator('PUT', `/operator/locations/${id}`, { licenseId });
  for (const id of ['granted-1', 'granted-2']) await bridge.authorise(id);
  const mine = ['loc-1', 'loc-3', 'granted-2'];
  const locations = [...mine, 'loc-unknown'];
  const { token } = (await bridge.operator('POST', '/operator/tokens', { label: 'Some', locations })).body;
  const walked: string[] = [];
  let query = '';
  do {
    const response = await fetch(`${bridge.bridge.operatorUrl}/operator/locations?limit=1${query}`, {
      headers: { Authorization: `Bearer ${String(token)}` },
    });
    const page = (await response.json()) as Json;
    walked.push(...entriesOf(page).map((entry) => (entry as { locationId: string }).locationId));
    query = nextQuery(page);
  } while (query !== '');
  expect(walked.toSorted()).toEqual(mine.toSorted());
});

it('M8 one location is found by its id, without reading the list', async () => {
  const bridge = await start();
  const { id: licenseId } = await bridge.createLicense();
  for (const id of ['loc-1', 'loc-2'])
    await bridge.operator('PUT', `/operator/locations/${id}`, { licenseId });
  const found = async (id: string) =>
    entriesOf((await bridge.operator('GET', `/operator/locations?locationId=${id}`)).body).map(idOf);
  expect(await found('loc-2')).toEqual(['loc-2 ']);
  expect(await found('loc-none')).toEqual([]);
  expect((await bridge.operator('GET', '/operator/locations?locationId=%00')).status).toBe(400);
});
