import { request } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { BUDGETS } from '@footbridge/service/platform/budgets';
import { afterEach, describe, expect, it } from 'vitest';

import { LOCATION, OTHER_LOCATION, TestBridge } from '../contract/test-bridge.ts';
import { honestTraffic } from './honest-traffic.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

/** Attacks hold open sockets that are closed before the bridge. */
async function start(env: Record<string, string> = {}): Promise<TestBridge> {
  const bridge = await TestBridge.start({
    env: {
      RATE_LIMIT_UNSIGNED: '1000000',
      RATE_LIMIT_ENROLMENT: '1000000',
      RATE_LIMIT_OAUTH_CALLBACK: '1000000',
      RATE_LIMIT_HEALTH: '1000000',
      RATE_LIMIT_HEALTH_PROBE: '1000000',
      ...env,
    },
  });
  cleanup.add(() => bridge.stop());
  await bridge.mac(OTHER_LOCATION);
  return bridge;
}

function open(bridge: TestBridge, bytes: string, url = bridge.url): Socket {
  const { hostname, port } = new URL(url);
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

/** Resolves when one more request of the address gets this status. */
async function rejects(status: number, send: () => Promise<Response>): Promise<void> {
  await until(async () => (await send()).status === status);
}

async function storedFile(bridge: TestBridge): Promise<string> {
  const token = await bridge.token();
  await (await bridge.connect({ token })).register(LOCATION);
  const stored = (await (await upload(bridge, token, new Uint8Array(5_000_000))).json()) as { url: string };
  return stored.url;
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const incomplete = (path: string) =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`;
const UNSIGNED = 'POST /crm/webhook HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}';
const isClosed = ({ destroyed, readableEnded }: Socket) => destroyed || readableEnded;

/** One attack per row of the table. Resolves when the slots are taken and further requests get the documented response; may return a check of the recovery. */
const EXHAUST: Record<keyof typeof BUDGETS, (bridge: TestBridge) => Promise<void | (() => Promise<void>)>> = {
  async webhooks(bridge) {
    const { pathname } = new URL(await storedFile(bridge));
    // Complete requests whose responses wait behind a download that is not read.
    const sockets = Array.from({ length: 40 }, () =>
      open(bridge, get(pathname) + UNSIGNED.repeat(30)).pause(),
    );
    await until(() =>
      sockets.every(({ bytesWritten, writableLength }) => bytesWritten > 0 && writableLength === 0),
    );
    const { total } = BUDGETS.webhooks.slots;
    const slow = Array.from({ length: total + 50 }, () => open(bridge, incomplete('/crm/webhook')));
    await until(() => slow.filter(isClosed).length >= 50);
  },

  async uploads(bridge) {
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
  },

  async downloads(bridge) {
    const url = await storedFile(bridge);
    const many = get(new URL(url).pathname).repeat(31);
    const sockets = Array.from({ length: 40 }, () => open(bridge, many).pause());
    await rejects(429, () => fetch(url, { method: 'HEAD' }));
    return async () => {
      // They are disconnected once they have not read for the time of the budget.
      await bridge.clock.skip(BUDGETS.downloads.stall.ms + 2000);
      for (const socket of sockets) socket.resume();
      await until(() => sockets.every(({ destroyed }) => destroyed));
      expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
    };
  },

  async enrolment(bridge) {
    for (let number = 0; number < 100; number++) open(bridge, incomplete('/mac/activate'));
    await rejects(429, () => fetch(`${bridge.url}/mac/activate`, { method: 'POST' }));
  },

  async health(bridge) {
    bridge.crm.injectFault({ match: 'token', times: 1000, how: 'hang' });
    // The responses wait behind that of the callback, which waits for the CRM.
    open(bridge, get('/oauth/callback/crm?code=a') + get('/health?pm2').repeat(31));
    await rejects(429, () => fetch(`${bridge.url}/health?pm2`));
  },

  async other(bridge) {
    bridge.crm.injectFault({ match: 'token', times: 1000, how: 'hang' });
    for (let number = 0; number < 100; number++) open(bridge, get('/oauth/callback/crm?code=a'));
    await rejects(429, () => fetch(`${bridge.url}/oauth/callback/crm`));
    expect((await fetch(`${bridge.url}/health`)).status).toBe(200);
  },

  async operator(bridge) {
    const { total } = BUDGETS.operator.slots;
    const sockets = Array.from({ length: total + 50 }, () =>
      open(bridge, incomplete('/operator/session'), bridge.bridge.operatorUrl),
    );
    await until(() => sockets.filter(isClosed).length >= 50);
    expect((await bridge.operator('GET', '/operator/locations')).status).toBe(200);
  },
};

describe('an exhausted budget does not affect the webhooks of another tenant', () => {
  it.each(Object.entries(EXHAUST))('T52 %s', async (_row, exhaust) => {
    const bridge = await start();
    const recovers = await exhaust(bridge);
    expect(await honestTraffic(bridge)).toMatchObject(ALL_SENT);
    await recovers?.();
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
