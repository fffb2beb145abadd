import { request } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { BUDGETS } from '@footbridge/service/budgets';
import { afterEach, describe, expect, it } from 'vitest';

import { LOCATION, OTHER_LOCATION, TestBridge } from '../contract/test-bridge.ts';
import { honestTraffic } from './honest-traffic.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

/** Attacks hold open sockets that are closed before the bridge. */
async function start(env: Record<string, string> = {}): Promise<TestBridge> {
  const bridge = await TestBridge.start({
    env: { RATE_LIMIT_UNSIGNED: '1000000', RATE_LIMIT_ENROLMENT: '1000000', ...env },
  });
  cleanup.add(() => bridge.stop());
  await bridge.mac(OTHER_LOCATION);
  return bridge;
}

function open(bridge: TestBridge, bytes: string): Socket {
  const { hostname, port } = new URL(bridge.url);
  const socket = connect(Number(port), hostname);
  cleanup.add(() => socket.destroy());
  socket.on('error', () => undefined).write(bytes);
  return socket;
}

async function upload(bridge: TestBridge, token: string, bytes: Uint8Array<ArrayBuffer>): Promise<Response> {
  return fetch(`${bridge.url}/mac/assets`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}` },
    body: bytes,
  });
}

/** Announces a file, sends its first bytes and nothing more. Counts the statuses that come back. */
function holdUpload(bridge: TestBridge, token: string, statuses: number[]): void {
  const call = request(`${bridge.url}/mac/assets`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Length': 1_000_000 },
    agent: false,
  });
  cleanup.add(() => call.destroy());
  call.on('error', () => statuses.push(0));
  call.on('response', (answer) => statuses.push(answer.resume().statusCode ?? 0));
  call.write('x'.repeat(1000));
}

const ALL_SENT = { statuses: { 200: 20 } };

describe('an exhausted budget does not concern the webhooks of another tenant', () => {
  it('T52 downloads that are not read', async () => {
    const bridge = await start();
    const token = await bridge.token();
    const mac = await bridge.connect({ token });
    await mac.register(LOCATION);
    const stored = (await (await upload(bridge, token, new Uint8Array(5_000_000))).json()) as { url: string };
    const { pathname } = new URL(stored.url);
    const get = `GET ${pathname} HTTP/1.1\r\nHost: a\r\n\r\n`;
    const sockets = Array.from({ length: 40 }, () => open(bridge, get.repeat(31)).pause());
    const again = await until(async () => {
      const { status } = await fetch(stored.url, { method: 'HEAD' });
      return status === 200 ? undefined : status;
    });
    expect(again).toBe(429);
    expect(await honestTraffic(bridge)).toMatchObject(ALL_SENT);
    // They are disconnected once they have not read for the time of the budget.
    await bridge.clock.skip(BUDGETS.downloads.stall.ms + 2000);
    for (const socket of sockets) socket.resume();
    await until(() => sockets.every(({ destroyed }) => destroyed));
    expect((await fetch(stored.url, { method: 'HEAD' })).status).toBe(200);
  });

  it('T52 slow uploads of many Macs', async () => {
    const bridge = await start();
    const statuses: number[] = [];
    const { perLicense } = BUDGETS.uploads.slots;
    for (let number = 0; number < 20; number++) {
      const token = await bridge.token(`mac-number-${number}`);
      await (await bridge.connect({ token })).register(`${LOCATION}${number}`);
      for (let file = 0; file < 50; file++) holdUpload(bridge, token, statuses);
    }
    // The others wait for the rest of their files.
    await until(() => statuses.length >= 20 * 50 - perLicense);
    expect(new Set(statuses)).toEqual(new Set([429]));
    expect(await honestTraffic(bridge)).toMatchObject(ALL_SENT);
  });

  it('T28 webhooks whose bodies never end', async () => {
    const bridge = await start();
    const slow = 'POST /crm/webhook HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{';
    const sockets = Array.from({ length: BUDGETS.webhooks.slots.total + 50 }, () => open(bridge, slow));
    await until(
      () => sockets.filter(({ destroyed, readableEnded }) => destroyed || readableEnded).length >= 50,
    );
    expect(await honestTraffic(bridge)).toMatchObject(ALL_SENT);
  });

  it('T28 large webhook bodies that never end hold a bounded amount of memory', async () => {
    const bridge = await start();
    const head = 'POST /crm/webhook HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n';
    const most = BUDGETS.webhooks.memoryBytes / 900_000;
    const sockets = Array.from({ length: 150 }, () => open(bridge, head + ' '.repeat(900_000)).resume());
    await until(() => sockets.filter(({ destroyed }) => !destroyed).length <= most);
    expect(await honestTraffic(bridge)).toMatchObject(ALL_SENT);
  });
});
