import { setTimeout as sleep } from 'node:timers/promises';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { startCluster } from './cluster.ts';

const canRun = (await hasRedis()) && (await hasPostgres());
const MAX_OUTLIVED_MS = 5000;
const WEBHOOK_EVERY_MS = 100;

describe.skipIf(!canRun)('an uninstallation, on two nodes', { timeout: 300_000 }, () => {
  const cleanup = createCleanup();
  afterEach(() => cleanup.run());

  it('E3 ends the use of a token at the other node within 5 seconds, by location and by company', async () => {
    const cluster = await startCluster(cleanup, {
      nodes: 2,
      faultProxies: false,
      env: { RATE_LIMIT_CRM_WEBHOOK: '100000' },
    });
    const { crm } = cluster;
    const derived = 'locOfCompany1';
    const code = crm.install({ companyId: 'company1', locations: [derived] });
    await fetch(`${cluster.node(0).service.url}/oauth/callback/crm?code=${encodeURIComponent(code)}`);
    const location = await cluster.location();

    for (const [locationId, event] of [
      [location, { locationId: location }],
      [derived, { companyId: 'company1' }],
    ] as const) {
      const mac = await cluster.mac(1, locationId);
      cleanup.add(() => mac.terminate());
      const lastUse = () => crm.calls.findLast((call) => call.locationId === locationId)?.at ?? 0;
      const text = async () => {
        expect((await cluster.webhook(1, locationId)).status).toBe(200);
        await sleep(WEBHOOK_EVERY_MS);
      };
      await text();
      // The other node has the token in memory.
      await until(() => lastUse() > 0, { what: 'a status' });

      const sent = await crm.sendAppEvent(
        { type: 'UNINSTALL', ...event },
        { url: cluster.node(0).service.url },
      );
      expect(sent.status).toBe(200);
      const uninstalledAt = Date.now();
      // Each text makes the other node report a status, while it has a token.
      while (Date.now() < uninstalledAt + 2 * MAX_OUTLIVED_MS) await text();
      expect(lastUse() - uninstalledAt).toBeLessThan(MAX_OUTLIVED_MS);
    }
  });
});
