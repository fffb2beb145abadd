import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, expect, it } from 'vitest';

import { LOCATION, TestBridge } from '../contract/test-bridge.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function start() {
  const bridge = await TestBridge.start();
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
