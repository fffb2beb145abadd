import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

import { SAMPLE_EVENTS } from '@footbridge/cli/sample-events';
import { run } from '@footbridge/cli/run';
import { startAgent } from '@footbridge/testkit/agent';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { LOCATION, TestBridge } from '../contract/test-bridge.ts';
import { jsonLines, recordedIo, runInProcess } from './run-in-process.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function start() {
  const bridge = await TestBridge.start();
  cleanup.add(() => bridge.stop());
  const { operatorUrl, operatorToken } = bridge.bridge;
  return { bridge, env: { FOOTBRIDGE_OPERATOR_URL: operatorUrl, OPERATOR_TOKEN: operatorToken } };
}

describe('footbridge trigger', () => {
  it('makes every event happen on a simulated Mac, and follows it into the CRM', async () => {
    const { bridge, env } = await start();
    const license = (await bridge.operator('POST', '/operator/licenses', { label: 'CLI', maxSeats: 1 })).body[
      'key'
    ];
    const agent = await startAgent({ url: bridge.url, license: String(license), location: LOCATION });
    cleanup.add(() => agent.stop());
    await until(async () => (await bridge.metric('footbridge_macs_bound')) === 1);
    const trigger = (...args: string[]) =>
      runInProcess(['trigger', ...args, '--control', agent.controlUrl], { env });

    for (const { name } of SAMPLE_EVENTS) {
      const { code, stdout, stderr } = await trigger(name);
      expect([name, code, stderr]).toEqual([name, 0, '']);
      expect(jsonLines(stdout)).toMatchObject([{ event: name }]);
    }
    const followed = await trigger('inbound.text', '--from', '+14155550188', '--text', 'canary', '--wait');
    expect(followed.code).toBe(0);
    expect(jsonLines(followed.stdout).at(-1)).toMatchObject({ outcome: 'delivered' });
    expect(followed.stdout).not.toContain('canary');
    expect(await trigger('reaction.add', '--target', 'unknown')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the simulated Mac rejected this'),
    });
    const typo = await trigger('inbound.txt');
    expect([typo.code, typo.stderr]).toEqual([
      2,
      expect.stringContaining('Allowed choices are inbound.text'),
    ]);
  });

  it('says how to start a simulated Mac', async () => {
    const none = await runInProcess(['trigger', 'inbound.text', '--control', 'http://127.0.0.1:1']);
    expect(none).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('footbridge-agent run --simulate'),
    });
  });
});

describe('footbridge listen', () => {
  it('forwards calls to a local program, returns its responses and prints neither query nor body', async () => {
    const { env } = await start();
    const received: string[] = [];
    const local = createServer((request, response) => {
      void text(request).then((body) => {
        received.push(`${request.method} ${request.url} ${request.headers['authorization']} ${body}`);
        response.writeHead(201, { 'Content-Type': 'application/json', 'X-Own': 'yes' }).end('{"made":true}');
      });
    });
    await new Promise<void>((resolve) => local.listen(0, '127.0.0.1', resolve));
    cleanup.add(() => void local.close());
    const forward = `http://127.0.0.1:${(local.address() as AddressInfo).port}/api`;

    const io = recordedIo({ env });
    const running = run(['listen', '--forward', forward, '--port', '0'], io);
    const { url } = await until(() =>
      io.written.stdout === '' ? undefined : jsonLines(io.written.stdout)[0],
    );
    const response = await fetch(`${String(url)}/messages?number=%2B14155550100`, {
      method: 'POST',
      headers: { Authorization: 'Bearer canary-token' },
      body: '{"message":"canary"}',
    });
    expect([response.status, response.headers.get('x-own'), await response.json()]).toEqual([
      201,
      'yes',
      { made: true },
    ]);
    expect(received).toEqual([
      'POST /api/messages?number=%2B14155550100 Bearer canary-token {"message":"canary"}',
    ]);
    const second = await until(() => jsonLines(io.written.stdout)[1]);
    expect(second).toEqual({ method: 'POST', path: '/messages', status: 201, ms: expect.any(Number) });

    local.closeAllConnections();
    local.close();
    expect((await fetch(`${String(url)}/messages`)).status).toBe(502);
    for (const end of io.cleanups) await end();
    expect(await running).toBe(0);
    expect(io.written.stdout + io.written.stderr).not.toMatch(/canary|4155550100/);
  });
});
