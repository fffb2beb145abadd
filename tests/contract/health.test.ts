import { afterEach, describe, expect, it } from 'vitest';

import { startBridge } from '../bridge.ts';
import type { RunningBridge } from '../bridge.ts';

let bridge: RunningBridge | undefined;
afterEach(() => bridge?.stop());

const start = async (env: Record<string, string> = {}): Promise<RunningBridge> => {
  bridge = await startBridge(env);
  return bridge;
};

describe('GET /health', () => {
  it('H1 returns the status, the version, the uptime and the state of each dependency, and nothing about tenants', async () => {
    const { url } = await start();
    const answer = await fetch(`${url}/health`);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      status: 'ok',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      uptimeSec: expect.any(Number),
      checks: { store: 'ok' },
    });
  });

  it('H1 returns only the status to a probe with pm2, whatever its value', async () => {
    const { url } = await start();
    for (const query of ['?pm2=1', '?pm2=', '?pm2'])
      expect(await (await fetch(`${url}/health${query}`)).json()).toEqual({ status: 'ok' });
  });

  it('L4 allows 30 requests a minute and 15 probes, counted separately, and responds 429 with JSON above that', async () => {
    const { url } = await start();
    const ask = async (path: string, times: number) => {
      const statuses: number[] = [];
      for (let i = 0; i < times; i++) statuses.push((await fetch(url + path)).status);
      return statuses;
    };
    expect(await ask('/health', 30)).toEqual(Array.from({ length: 30 }, () => 200));
    const refused = await fetch(`${url}/health`);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ code: 'TOO_MANY_REQUESTS', message: expect.any(String) });
    expect(await ask('/health?pm2=x', 15)).toEqual(Array.from({ length: 15 }, () => 200));
    expect(await ask('/health?pm2=x', 1)).toEqual([429]);
  });

  it('L2 reports the limit of the address in the headers of every response', async () => {
    const { url } = await start();
    for (const [path, limit] of [
      ['/health', '30'],
      ['/health?pm2=x', '15'],
    ] as const) {
      const { headers } = await fetch(url + path);
      const shown = ['limit', 'remaining', 'reset'].map((name) => headers.get(`ratelimit-${name}`));
      expect(shown).toEqual([limit, String(Number(limit) - 1), '60']);
      expect(headers.get('retry-after')).toBeNull();
    }
  });

  it('L7 ignores a forged X-Forwarded-For', async () => {
    const { url } = await start({ RATE_LIMIT_HEALTH: '2' });
    const statuses: number[] = [];
    for (const forged of ['1.1.1.1', '2.2.2.2', '3.3.3.3'])
      statuses.push((await fetch(`${url}/health`, { headers: { 'X-Forwarded-For': forged } })).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  it('L7 counts each client behind a trusted proxy separately', async () => {
    const { url } = await start({ RATE_LIMIT_HEALTH: '1', TRUST_PROXY: 'loopback' });
    const ask = async (from: string) =>
      (await fetch(`${url}/health`, { headers: { 'X-Forwarded-For': from } })).status;
    expect([await ask('1.1.1.1'), await ask('2.2.2.2'), await ask('1.1.1.1')]).toEqual([200, 200, 429]);
  });
});

describe('deprecated paths', () => {
  it.each(['/send-message', '/crm/send-message'])(
    'H2 POST %s responds 410 and names its replacement',
    async (path) => {
      const { url } = await start();
      for (const [type, body] of [
        ['application/json', '{"a":1}'],
        ['application/json', 'not json'],
        ['application/json', ''],
        ['foo', 'x'],
        ['text/plain', 'x'.repeat(2_000_000)],
      ] as const) {
        const answer = await fetch(url + path, { method: 'POST', body, headers: { 'Content-Type': type } });
        expect(answer.status).toBe(410);
        expect(answer.headers.get('deprecation')).toBe('@1738800000');
        expect(answer.headers.get('sunset')).toBe('Fri, 01 May 2026 00:00:00 GMT');
        const [, link = ''] = /^<(.+)>; rel="deprecation"$/.exec(answer.headers.get('link') ?? '') ?? [];
        expect((await fetch(new URL(link, url))).status).toBe(200);
        expect(await answer.json()).toMatchObject({ code: 'GONE', replacement: '/crm/webhook' });
      }
    },
  );

  it('H2 calls are logged and counted', async () => {
    const { url, operatorUrl, logs } = await start();
    const call = (path: string) => fetch(url + path, { method: 'POST', body: '{"number":"+14155550100"}' });
    for (const path of ['/send-message', '/crm/send-message', '/send-message']) await call(path);
    const lines = logs
      .map((line) => JSON.parse(line))
      .filter(({ event }) => event === 'http.deprecated_path');
    expect(lines).toMatchObject([
      { path: '/send-message', requestId: expect.any(String) },
      { path: '/crm/send-message' },
      { path: '/send-message' },
    ]);
    expect(logs.join()).not.toContain('4155550100');
    const metrics = await (await fetch(`${operatorUrl}/metrics`)).text();
    expect(metrics).toContain('footbridge_deprecated_requests_total{path="/send-message"} 2');
    expect(metrics).toContain('footbridge_deprecated_requests_total{path="/crm/send-message"} 1');
  });
});

describe('unknown paths', () => {
  it.each(['/', '/nope', '/crm', '/crm/webhook/other', '/operator/keys', '/metrics', '/%', '/..%2f'])(
    'W20 %s gets 404 as JSON',
    async (path) => {
      const { url } = await start();
      const answer = await fetch(url + path);
      expect([answer.status, await answer.json()]).toEqual([404, { error: 'Not found', code: 'NOT_FOUND' }]);
    },
  );

  it.each([
    ['malformed', 'application/json', '{'],
    ['empty', 'application/json', ''],
    ['of an unknown type', 'application/x-unknown', 'x'],
    ['too large', 'application/json', JSON.stringify('x'.repeat(1_100_000))],
  ])('W20 an unknown path does not read a body that is %s', async (_what, type, body) => {
    const { url } = await start();
    const answer = await fetch(`${url}/nothing`, { method: 'POST', headers: { 'Content-Type': type }, body });
    expect([answer.status, await answer.json()]).toMatchObject([404, { code: 'NOT_FOUND' }]);
  });
});

describe('the operator listener', () => {
  it('serves probes and metrics without a token', async () => {
    const { operatorUrl } = await start();
    expect((await fetch(`${operatorUrl}/livez`)).status).toBe(200);
    expect((await fetch(`${operatorUrl}/readyz`)).status).toBe(200);
    expect(await (await fetch(`${operatorUrl}/metrics`)).text()).toContain('footbridge_macs_bound 0');
  });

  it('V1 serves the OpenAPI and AsyncAPI documents', async () => {
    const { operatorUrl } = await start();
    expect(await (await fetch(`${operatorUrl}/openapi.json`)).json()).toMatchObject({
      openapi: expect.stringMatching(/^3\.1/),
    });
    expect(await (await fetch(`${operatorUrl}/asyncapi.json`)).json()).toMatchObject({
      asyncapi: expect.stringMatching(/^3\./),
    });
  });

  it('requires the token, and rejects further wrong ones after ten, but never the right one', async () => {
    const { operatorUrl, operatorToken } = await start();
    const ask = async (token: string) =>
      (await fetch(`${operatorUrl}/operator/keys`, { headers: { Authorization: `Bearer ${token}` } })).status;
    expect(await ask(operatorToken)).toBe(200);
    for (let i = 0; i < 10; i++) expect(await ask('wrong-wrong-wrong')).toBe(401);
    expect(await ask('wrong-wrong-wrong')).toBe(429);
    expect(await ask(operatorToken)).toBe(200);
  });
});
