import { ed25519Key, signedRequest } from '@footbridge/testkit/keys';
import { until } from '@footbridge/testkit/until';
import { expect, it } from 'vitest';

import { startBridge } from './bridge.ts';
import type { RunningBridge } from './bridge.ts';

const CANARY = 'canary';

const served = ({ logs }: RunningBridge) =>
  logs
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ event }) => event === 'http.served');

/** Sends requests with private data in every place that can hold it. */
async function request(
  { url, operatorUrl, operatorToken }: RunningBridge,
  key: ReturnType<typeof ed25519Key>,
) {
  const body = { locationId: 'loc1', contactId: CANARY, phone: '+14155550100', message: CANARY };
  const webhook = await fetch(`${url}/crm/webhook?token=${CANARY}`, signedRequest(body, key));
  const asset = await fetch(`${url}/assets/${CANARY}/${CANARY}.png?x=${CANARY}`);
  const unknown = await fetch(`${url}/${CANARY}`);
  const wrong = await fetch(`${url}/crm/webhook/sms`);
  const operator = await fetch(`${operatorUrl}/operator/messages?phone=%2B14155550100`, {
    headers: { Authorization: `Bearer ${operatorToken}` },
  });
  const responses = [webhook, asset, unknown, wrong, operator];
  for (const response of responses) await response.text();
  return responses.map((response) => ({
    status: response.status,
    requestId: response.headers.get('x-request-id'),
  }));
}

it('the access log has the route, status, duration, size and request id of each response, and nothing private', async () => {
  const key = ed25519Key();
  const bridge = await startBridge({ ACCESS_LOG: 'true', CRM_PUBLIC_KEY: key.publicKey });
  const responses = await request(bridge, key);
  await until(() => served(bridge).length >= 5);
  const lines = served(bridge);
  await bridge.stop();
  expect(lines.map(({ listener, method, route, status }) => [listener, method, route, status])).toEqual([
    ['public', 'POST', '/crm/webhook', 404],
    ['public', 'GET', expect.stringMatching(/^\/assets\/:/), 404],
    ['public', 'GET', 'unmatched', 404],
    ['public', 'GET', '/crm/webhook/sms', 405],
    ['operator', 'GET', '/operator/messages', 200],
  ]);
  expect(lines.map(({ status, requestId }) => ({ status, requestId }))).toEqual(responses);
  for (const { ms, bytes } of lines) {
    expect(ms).toBeGreaterThanOrEqual(0);
    expect(bytes).toBeGreaterThan(0);
  }
  expect(JSON.stringify(lines)).not.toMatch(/canary|4155550100/);
});

it('the access log is off by default', async () => {
  const key = ed25519Key();
  const bridge = await startBridge({ CRM_PUBLIC_KEY: key.publicKey });
  await request(bridge, key);
  await bridge.stop();
  expect(served(bridge)).toEqual([]);
});
