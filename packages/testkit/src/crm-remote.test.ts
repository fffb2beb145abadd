import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Child } from './child.ts';
import { remoteCrm } from './crm-remote.ts';
import type { RemoteCrm } from './crm-remote.ts';
import { freePort } from './ports.ts';
import { createCleanup } from './cleanup.ts';

const cleanup = createCleanup();
let url = '';
let crm: RemoteCrm;

beforeEach(async () => {
  const main = fileURLToPath(new URL('crm-main.ts', import.meta.url));
  const child = new Child(process.execPath, [main, '--port', '0', '--control-port', '0']);
  cleanup.add(async () => expect(await child.end()).toEqual({ code: 0, signal: null }));
  const ready = await child.line((line): Record<string, string> => JSON.parse(line), 60_000, 'ready');
  expect(ready).toMatchObject({ msg: 'crm ready', publicKey: expect.stringContaining('PUBLIC KEY') });
  url = ready['url'] ?? '';
  crm = remoteCrm(ready['controlUrl'] ?? '');
});
afterEach(() => cleanup.run());

it('controls a CRM in another process', async () => {
  const { access_token } = await crm.token({ locationId: 'LocA' });
  const contact = await crm.addContact({ locationId: 'LocA', phone: '+15550001111' });
  await crm.set({ rateLimit: null });
  const { id } = await crm.injectFault({ match: 'inbound', how: { status: 503, retryAfter: 1 } });
  const inbound = () =>
    fetch(`${url}/conversations/messages/inbound`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${access_token}`,
        Version: '2021-07-28',
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({ type: 'SMS', contactId: contact.id, message: 'hi' }),
    });
  expect((await inbound()).status).toBe(503);
  expect((await inbound()).status).toBe(201);
  expect(await crm.faultHits({ id })).toBe(1);
  expect(await crm.messages()).toMatchObject([{ message: 'hi', contactId: contact.id }]);
  expect((await crm.calls({ since: 1 })).map((call) => call.status)).toEqual([201]);
  await crm.setBridge({ url: `http://127.0.0.1:${await freePort()}` });
  expect(await crm.sendWebhook({ fields: { locationId: 'LocA' } })).toMatchObject({
    error: expect.stringContaining('ECONNREFUSED'),
  });
  expect(await crm.webhooks()).toHaveLength(1);
  await crm.forget();
  expect(await crm.messages()).toEqual([]);
});

it('returns OAuth codes and rejects unknown operations', async () => {
  expect(await crm.install({ locationId: 'LocA' })).toMatch(/^[0-9a-f]{40}$/);
  expect(await crm.state()).toMatchObject({ url, settings: { expiresInSec: 86_399 } });
  // @ts-expect-error no such operation
  await expect(crm.explode()).rejects.toThrow('Unknown operation: explode');
});
