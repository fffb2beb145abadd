import { request } from 'node:http';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, expect, it } from 'vitest';

import { LOCATION, TestBridge } from '../contract/test-bridge.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function start(env: Record<string, string> = {}) {
  const bridge = await TestBridge.start({ env });
  cleanup.add(() => bridge.stop());
  const { operatorUrl } = bridge.bridge;
  const created = await bridge.operator('POST', '/operator/tokens', {
    label: 'Tenant',
    locations: [LOCATION],
  });
  const { id, token } = created.body as unknown as { id: string; token: string };
  const follow = async (headers: Record<string, string>) => {
    const stop = new AbortController();
    cleanup.add(() => stop.abort());
    return await fetch(`${operatorUrl}/operator/events`, { headers, signal: stop.signal });
  };
  return { bridge, operatorUrl, id, token, follow };
}

it('T46 a removed token ends the event stream that was opened with it', async () => {
  const { bridge, id, token, follow } = await start();
  const stream = await follow({ Authorization: `Bearer ${token}` });
  const ended = stream.text();
  expect((await bridge.operator('DELETE', `/operator/tokens/${id}`)).status).toBe(204);
  await bridge.clock.skip(15_000);
  expect(await ended).toContain('retry');
});

it('T46 a browser that signs out ends its event stream', async () => {
  const { bridge, operatorUrl, token, follow } = await start();
  const signedIn = await fetch(`${operatorUrl}/operator/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  const { csrf } = (await signedIn.json()) as { csrf: string };
  const [Cookie = ''] = (signedIn.headers.get('set-cookie') ?? '').split(';');
  const ended = (await follow({ Cookie })).text();
  const signedOut = await fetch(`${operatorUrl}/operator/session`, {
    method: 'DELETE',
    headers: { Cookie, 'X-CSRF-Token': csrf },
  });
  expect(signedOut.status).toBe(204);
  await bridge.clock.skip(15_000);
  expect(await ended).toContain('retry');
});

it('T52 the event streams of one token leave room for those of the operator', async () => {
  const { bridge, token, follow } = await start();
  const streams = await Promise.all(
    Array.from({ length: 100 }, () => follow({ Authorization: `Bearer ${token}` })),
  );
  expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200, 429]));
  const { status } = await follow({ Authorization: `Bearer ${bridge.bridge.operatorToken}` });
  expect(status).toBe(200);
});

interface Called {
  readonly status: number;
  readonly body: string;
  readonly cookie: string;
}

/** Calls the operator listener. Unlike `fetch`, it can name any host. */
function call(url: string, headers: Record<string, string>, body?: object): Promise<Called> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const json = body === undefined ? {} : { 'Content-Type': 'application/json' };
    request(url, { method, headers: { ...headers, ...json } }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => (text += part));
      const [cookie = ''] = answer.headers['set-cookie'] ?? [];
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: text, cookie }));
    })
      .on('error', reject)
      .end(body && JSON.stringify(body));
  });
}

const STRANGE_HOSTS = [
  'evil.example',
  'evil.example:4610',
  'bridge.example.com.evil.example',
  '127.0.0.1.evil.example',
  '[evil.example]',
  'someone@localhost.',
];
const OWN_HOSTS = [
  'localhost:4610',
  'bridge.localhost',
  '127.0.0.1:4610',
  '10.1.2.3',
  '[::1]:4610',
  '[::ffff:10.1.2.3]',
  'footbridge:4610',
  'bridge.example.com',
  'Bridge.Example.com.:443',
  'console.example.net:8443',
];

it('T71 a page whose name an attacker points at the service reads nothing from the operator listener', async () => {
  const { operatorUrl, token } = await start({
    BASE_URL: 'https://bridge.example.com/path',
    ADMIN_ALLOWED_HOSTS: 'other.example.net, Console.Example.net',
  });
  const paths = ['/', '/console', '/metrics', '/livez', '/openapi.json', '/nothing', '/operator/locations'];
  const statuses = async (Host: string) => {
    const headers = { Host, Authorization: `Bearer ${token}` };
    return await Promise.all(paths.map(async (path) => (await call(operatorUrl + path, headers)).status));
  };
  for (const host of STRANGE_HOSTS)
    expect([host, await statuses(host)]).toEqual([host, paths.map(() => 421)]);
  for (const host of OWN_HOSTS) expect([host, (await statuses(host)).includes(421)]).toEqual([host, false]);
  const { body } = await call(`${operatorUrl}/console`, { Host: 'evil.example' });
  expect(JSON.parse(body)).toMatchObject({
    code: 'MISDIRECTED_REQUEST',
    host: 'evil.example',
    message: expect.stringContaining('ADMIN_ALLOWED_HOSTS'),
  });
});

it('T71 behind TLS only a cookie that no other host could have set is a session', async () => {
  const { operatorUrl, token } = await start();
  const signIn = (proto: string) =>
    call(`${operatorUrl}/operator/session`, { 'X-Forwarded-Proto': proto }, { token });
  const { cookie } = await signIn('https');
  const [secure = ''] = cookie.split(';');
  expect(secure).toMatch(/^__Host-/);
  const plain = secure.replace('__Host-', '');
  const status = async (Cookie: string, proto?: string) =>
    (
      await call(`${operatorUrl}/operator/session`, {
        Cookie,
        ...(proto !== undefined && { 'X-Forwarded-Proto': proto }),
      })
    ).status;
  for (const proto of ['https', 'https,http', 'HTTPS , http']) {
    expect((await signIn(proto)).cookie).toMatch(/^__Host-.*; Secure$/);
    expect([proto, await status(secure, proto), await status(plain, proto)]).toEqual([proto, 200, 401]);
  }
  for (const proto of ['http', 'http,https'])
    expect((await signIn(proto)).cookie).toMatch(/^footbridge_session=/);
  expect(await status(plain)).toBe(200);
});
