import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { LOCATION, TestBridge } from '../contract/test-bridge.ts';
import type { TestBridgeOptions } from '../contract/test-bridge.ts';
import { runInProcess } from './run-in-process.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function start(options: TestBridgeOptions = {}) {
  const bridge = await TestBridge.start(options);
  cleanup.add(() => bridge.stop());
  const env = {
    FOOTBRIDGE_OPERATOR_URL: bridge.bridge.operatorUrl,
    OPERATOR_TOKEN: bridge.bridge.operatorToken,
  };
  return {
    bridge,
    doctor: async () => {
      const { code, stdout } = await runInProcess(['doctor'], { env });
      const findings = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, string>);
      const of = (check: string) => findings.filter((finding) => finding['check'] === check);
      return { code, findings, of };
    },
    text: () => runInProcess(['doctor'], { env, isTTY: true }),
  };
}

/** A program that listens on a port of its own and responds with this body and time. */
async function listen(body: string, date = new Date()): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader('Date', date.toUTCString()).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanup.add(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('footbridge doctor', () => {
  it('passes when a message can travel in both directions', async () => {
    const { bridge, doctor } = await start();
    await bridge.mac();
    await bridge.webhook({ messageId: 'm1' });
    const { code, findings, of } = await doctor();
    expect(findings.filter(({ state }) => state === 'fail')).toEqual([]);
    expect(code).toBe(0);
    for (const check of [
      'service',
      'version',
      'settings',
      'OAuth',
      'database (sqlite)',
      'CRM',
      'clock',
      'keys',
    ])
      expect([check, of(check)[0]?.['state']]).toEqual([check, 'pass']);
    expect(of('locations')).toEqual([{ check: 'locations', state: 'pass', sentence: 'all 1 can text' }]);
  });

  it('names what is missing, with one remedy for each finding', async () => {
    const { bridge, doctor, text } = await start({
      oauth: 'off',
      env: { CRM_OAUTH_ENABLED: 'true', CRM_OAUTH_CLIENT_ID: 'a' },
    });
    await bridge.webhook({ messageId: 'm1', locationId: LOCATION });
    await bridge.operator('PATCH', `/operator/keys/${await bridge.trust(bridge.crm.key)}`, {
      enabled: false,
    });
    const mac = await bridge.mac();
    mac.terminate();
    const { code, findings, of } = await doctor();
    expect(code).toBe(9);
    expect(of('OAuth')).toMatchObject([
      { state: 'fail', next: expect.stringContaining('CRM_OAUTH_CLIENT_SECRET, CRM_OAUTH_TOKEN_URL') },
    ]);
    expect(of('keys')).toMatchObject([
      { state: 'pass' },
      { state: 'warn', sentence: expect.stringContaining('is disabled') },
    ]);
    expect(of('locations')).toMatchObject([{ state: 'fail', sentence: expect.stringContaining(LOCATION) }]);
    expect(of('public URL')).toMatchObject([
      { state: 'warn', sentence: expect.stringContaining('BASE_URL is not set') },
    ]);
    expect(findings.filter(({ state, next }) => (state === 'pass') === (next !== undefined))).toEqual([]);
    expect((await text()).stdout).toMatch(/✖.* OAuth .* missing\n +Next: set CRM_OAUTH_CLIENT_SECRET/);
  });

  it.each([
    [
      'that nothing listens on',
      async () => 'http://127.0.0.1:1',
      /cannot be reached from the service: ECONNREFUSED/,
    ],
    ['of another program', () => listen('<html>Welcome</html>'), /but it is not this service/],
    [
      'of another Footbridge',
      () => listen('{"version":"0.0.1","uptimeSec":9999999}'),
      /leads to another Footbridge/,
    ],
  ])('finds a public address %s', async (_name, address, sentence) => {
    const { doctor } = await start({ env: { BASE_URL: await address() } });
    expect((await doctor()).of('public URL')).toEqual([
      {
        check: 'public URL',
        state: 'fail',
        sentence: expect.stringMatching(sentence),
        next: expect.any(String),
        // Its former name.
        remedy: expect.any(String),
      },
    ]);
  });

  it('finds a CRM that cannot be reached, and a clock that is wrong', async () => {
    const anHourAgo = new Date(Date.now() - 3_600_000);
    const late = await start({ oauth: 'off', env: { CRM_HOSTNAME: await listen('{}', anHourAgo) } });
    expect((await late.doctor()).of('clock')).toMatchObject([
      {
        state: 'fail',
        sentence: expect.stringMatching(/^the clock is 36\d\d s ahead of the clock of the CRM/),
      },
    ]);
    const gone = await start({ env: { CRM_HOSTNAME: 'http://127.0.0.1:1' } });
    expect((await gone.doctor()).of('CRM')).toMatchObject([
      { state: 'fail', sentence: 'http://127.0.0.1:1 cannot be reached from the service: ECONNREFUSED' },
    ]);
  });

  it('says that the service is not running, and what to do', async () => {
    const { code, stdout } = await runInProcess(['doctor'], {
      env: { FOOTBRIDGE_OPERATOR_URL: 'http://127.0.0.1:1', OPERATOR_TOKEN: 'x' },
    });
    expect(code).toBe(9);
    expect(JSON.parse(stdout)).toMatchObject({ check: 'service', state: 'fail', next: expect.any(String) });
  });
});
