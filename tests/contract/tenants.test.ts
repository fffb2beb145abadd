import { until } from '@footbridge/testkit/until';
import { expect, it } from 'vitest';

import { bridges } from './test-bridge.ts';

const start = bridges();

interface Tenant {
  readonly locationId: string;
  readonly links: readonly { readonly name: string; readonly state: string }[];
  readonly problem: { readonly link: string; readonly sentence: string; readonly action: string } | null;
}

it('S6 the operator sees for each tenant which link is broken and what to do', async () => {
  const bridge = await start();
  const tenant = async () => {
    const { body } = await bridge.operator('GET', '/operator/tenants');
    return (body['tenants'] as Tenant[]).find(({ locationId }) => locationId === 'loc-new');
  };
  const { key } = await bridge.createLicense();
  const mac = await bridge.connect({ token: await bridge.token('mac-0001', key) });
  await mac.register('loc-new');
  expect((await tenant())?.problem?.link).toBe('installed');

  await bridge.authorise('loc-new');
  mac.send({
    type: 'state',
    capabilities: [],
    messages: { running: true, signedIn: true },
    permissions: { fullDisk: 'denied', automation: 'granted' },
    lastSentAt: null,
    lastReceivedAt: null,
  });
  await mac.roundTrip();
  expect((await tenant())?.problem).toMatchObject({
    link: 'permissions',
    sentence: 'The Mac “Test Mac” does not have the Full Disk Access permission.',
  });
  expect((await tenant())?.links.map(({ name, state }) => `${name} ${state}`)).toEqual([
    'installed ok',
    'webhook waiting',
    'grant ok',
    'mac ok',
    'messages ok',
    'permissions broken',
    'queue unknown',
    'traffic ok',
    'crm waiting',
  ]);

  mac.terminate();
  await until(async () => (await tenant())?.problem?.link === 'mac');
});
