import { describe, expect, it } from 'vitest';

import { LOCATION, bridges } from './test-bridge.ts';
import type { TestBridge } from './test-bridge.ts';

const start = bridges();
const HOUR_MS = 3_600_000;

/** Calls the operator API with these headers and no operator token. */
async function call(
  bridge: TestBridge,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: unknown,
) {
  const response = await fetch(bridge.bridge.operatorUrl + path, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    cookie: response.headers.get('set-cookie') ?? '',
    body: JSON.parse(text === '' ? '{}' : text) as Record<string, unknown>,
  };
}

async function signIn(bridge: TestBridge, token = bridge.bridge.operatorToken, headers = {}) {
  const { status, cookie, body } = await call(bridge, 'POST', '/operator/session', headers, { token });
  return {
    status,
    cookie,
    body,
    headers: { cookie: cookie.split(';')[0] ?? '' },
    csrf: String(body['csrf']),
  };
}

const LICENSE = { label: 'Office', maxSeats: 1 };

describe('signing in to the console', () => {
  it('S6 exchanges the operator token for a cookie that scripts and other sites cannot use', async () => {
    const bridge = await start();
    const { cookie, headers } = await signIn(bridge);
    expect(cookie).toMatch(/^footbridge_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
    expect((await call(bridge, 'GET', '/operator/licenses', headers)).status).toBe(200);
  });

  it('S6 behind TLS the cookie is bound to the host', async () => {
    const bridge = await start();
    const { cookie, headers } = await signIn(bridge, undefined, { 'X-Forwarded-Proto': 'https' });
    expect(cookie).toMatch(/^__Host-footbridge_session=.*; Secure$/);
    expect((await call(bridge, 'GET', '/operator/licenses', headers)).status).toBe(200);
  });

  it('S6 a change needs the CSRF token of the session', async () => {
    const bridge = await start();
    const { headers, csrf } = await signIn(bridge);
    const other = await signIn(bridge);
    const create = (more: Record<string, string>) =>
      call(bridge, 'POST', '/operator/licenses', { ...headers, ...more }, LICENSE);
    expect((await create({})).status).toBe(403);
    expect((await create({ 'X-CSRF-Token': other.csrf })).status).toBe(403);
    expect((await create({ 'X-CSRF-Token': csrf })).status).toBe(201);
  });

  it('S6 a session ends by signing out, after an hour without use, and after half a day', async () => {
    const bridge = await start();
    const status = async (headers: Record<string, string>) =>
      (await call(bridge, 'GET', '/operator/session', headers)).status;

    const { headers, csrf } = await signIn(bridge);
    await call(bridge, 'DELETE', '/operator/session', { ...headers, 'X-CSRF-Token': csrf });
    expect(await status(headers)).toBe(401);

    const unused = await signIn(bridge);
    bridge.clock.freeze(HOUR_MS);
    expect(await status(unused.headers)).toBe(401);

    const used = await signIn(bridge);
    for (let halfHours = 1; halfHours < 24; halfHours++) {
      bridge.clock.freeze(HOUR_MS / 2);
      expect(await status(used.headers)).toBe(200);
    }
    bridge.clock.freeze(HOUR_MS / 2);
    expect(await status(used.headers)).toBe(401);
  });

  it('S6 a wrong token is rejected, after ten of them with a pause, and a valid one is never locked out', async () => {
    const bridge = await start();
    for (let tries = 0; tries < 10; tries++) expect((await signIn(bridge, 'wrong')).status).toBe(401);
    expect((await signIn(bridge, 'wrong')).status).toBe(429);
    const guess = await call(bridge, 'GET', '/operator/licenses', { authorization: 'Bearer wrong' });
    expect(guess.status).toBe(429);
    expect((await bridge.operator('GET', '/operator/licenses')).status).toBe(200);
    expect((await signIn(bridge)).status).toBe(200);
  });

  it('S6 requests without a token lock no address out', async () => {
    const bridge = await start();
    await bridge.clock.skip(60_000);
    for (let tries = 0; tries < 20; tries++)
      expect((await call(bridge, 'GET', '/operator/licenses', {})).status).toBe(401);
    expect((await call(bridge, 'GET', '/operator/licenses', { authorization: 'Bearer wrong' })).status).toBe(
      401,
    );
  });
});

describe('a sign-in link', () => {
  const createCode = async (bridge: TestBridge, token = bridge.bridge.operatorToken) => {
    const authorization = `Bearer ${token}`;
    const { status, body } = await call(bridge, 'POST', '/operator/session/codes', { authorization });
    expect(status).toBe(201);
    return String(body['code']);
  };
  const signInWith = (bridge: TestBridge, code: string) =>
    call(bridge, 'POST', '/operator/session', {}, { code });

  it('S6 signs a browser in once, within a minute', async () => {
    const bridge = await start();
    const code = await createCode(bridge);
    const { status, cookie } = await signInWith(bridge, code);
    expect(status).toBe(200);
    const headers = { cookie: cookie.split(';')[0] ?? '' };
    expect((await call(bridge, 'GET', '/operator/licenses', headers)).status).toBe(200);
    expect((await signInWith(bridge, code)).status).toBe(401);

    const late = await createCode(bridge);
    await bridge.clock.skip(60_000);
    expect((await signInWith(bridge, late)).status).toBe(401);
  });

  it('S6 has the rights of its token, and none after the token is removed', async () => {
    const bridge = await start();
    const { body } = await bridge.operator('POST', '/operator/tokens', {
      label: 'Agency',
      readOnly: true,
      locations: ['loc1'],
    });
    const token = String(body['token']);
    const [used, unused] = [await createCode(bridge, token), await createCode(bridge, token)];
    expect((await signInWith(bridge, used)).body).toMatchObject({
      label: 'Agency',
      readOnly: true,
      locations: ['loc1'],
    });
    await bridge.operator('DELETE', `/operator/tokens/${String(body['id'])}`);
    expect((await signInWith(bridge, unused)).status).toBe(401);
  });
});

describe('tokens for others', () => {
  async function createToken(bridge: TestBridge, wanted: object) {
    const { status, body } = await bridge.operator('POST', '/operator/tokens', {
      label: 'Agency',
      ...wanted,
    });
    expect(status).toBe(201);
    return { id: String(body['id']), authorization: `Bearer ${String(body['token'])}` };
  }

  it('S6 a read-only token reads everything and changes nothing', async () => {
    const bridge = await start();
    const { authorization } = await createToken(bridge, { readOnly: true });
    expect((await call(bridge, 'GET', '/operator/licenses', { authorization })).status).toBe(200);
    const created = await call(bridge, 'POST', '/operator/licenses', { authorization }, LICENSE);
    expect(created).toMatchObject({ status: 403, body: { message: 'This token is read-only.' } });
  });

  it('S6 a token for some locations sees only those', async () => {
    const bridge = await start();
    await bridge.mac();
    await bridge.mac('loc-other');
    const idOf = async (locationId: string) =>
      ((await bridge.webhook({ locationId })).answer as { requestId: string }).requestId;
    const [sent, other] = [await idOf(LOCATION), await idOf('loc-other')];
    await bridge.journalled(sent, 'written');
    await bridge.journalled(other, 'written');
    const { authorization } = await createToken(bridge, { readOnly: true, locations: ['loc-other'] });
    const read = (path: string) => call(bridge, 'GET', path, { authorization });
    const idsIn = (list: unknown) => (list as { locationId: string }[]).map(({ locationId }) => locationId);

    expect(idsIn((await read('/operator/tenants')).body['tenants'])).toEqual(['loc-other']);
    expect(idsIn((await read('/operator/locations')).body['locations'])).toEqual(['loc-other']);
    expect(idsIn((await read('/operator/messages')).body['messages'])).toEqual(['loc-other']);
    expect((await read(`/operator/messages?locationId=${LOCATION}`)).body['messages']).toEqual([]);
    expect((await read(`/operator/messages/${sent}`)).status).toBe(404);
    expect((await read(`/operator/messages/${other}`)).status).toBe(200);
    for (const path of ['licenses', 'devices', 'keys', 'grants', 'tokens'])
      expect((await read(`/operator/${path}`)).status, path).toBe(403);
  });

  it('S6 a token for some locations changes only those', async () => {
    const bridge = await start();
    await bridge.mac();
    await bridge.mac('loc-other');
    const { authorization } = await createToken(bridge, { locations: ['loc-other'] });
    const disconnect = (locationId: string) =>
      call(bridge, 'POST', `/operator/locations/${locationId}/disconnect`, { authorization });
    expect((await disconnect(LOCATION)).status).toBe(403);
    expect((await disconnect('loc-other')).status).toBe(200);
  });

  it('S6 a removed token ends at once, with its sessions', async () => {
    const bridge = await start();
    const { id, authorization } = await createToken(bridge, { readOnly: true });
    const { headers } = await signIn(bridge, authorization.slice('Bearer '.length));
    expect((await call(bridge, 'GET', '/operator/session', headers)).body).toMatchObject({
      label: 'Agency',
      readOnly: true,
    });
    expect((await bridge.operator('DELETE', `/operator/tokens/${id}`)).status).toBe(204);
    expect((await call(bridge, 'GET', '/operator/session', headers)).status).toBe(401);
    expect((await call(bridge, 'GET', '/operator/licenses', { authorization })).status).toBe(401);
    expect((await bridge.operator('DELETE', `/operator/tokens/${id}`)).status).toBe(404);
  });
});
