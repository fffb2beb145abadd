import { connect, createServer } from 'node:net';

// A service reads the pages when it starts, so they are built before a test starts one.
import '@footbridge/console/build-console';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { listen } from '@footbridge/testkit/loopback';
import { findChromium, hasChromium } from '@footbridge/testkit/servers/chromium';
import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { chromium } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';

import { startCluster } from '../nodes/cluster.ts';
import { WITHIN } from './console-browser.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const canRun = (await hasRedis()) && (await hasPostgres()) && (await hasChromium());
const OPERATOR_TOKEN = 'the-same-token-on-every-node';

/** A load balancer that sends every connection to the node that `target` names. */
async function startBalancer(target: () => string): Promise<string> {
  const server = createServer((client) => {
    const { hostname, port } = new URL(target());
    const node = connect(Number(port), hostname);
    client.pipe(node).pipe(client);
    client.on('error', () => node.destroy());
    node.on('error', () => client.destroy());
    node.on('close', () => client.destroy());
    cleanup.add(() => client.destroy());
  });
  const port = await listen(server);
  cleanup.add(() => new Promise((resolve) => server.close(resolve)));
  return `http://127.0.0.1:${port}`;
}

describe.skipIf(!canRun)('the console and a node that dies', { timeout: 300_000 }, () => {
  it('S6 says that the service does not respond, and continues on the other node without a new sign-in', async () => {
    const cluster = await startCluster(cleanup, { nodes: 2, faultProxies: false, env: { OPERATOR_TOKEN } });
    const [first, second] = [cluster.node(0).service, cluster.node(1).service];
    const locationId = await cluster.location();
    let target = first.operatorUrl;
    const url = await startBalancer(() => target);
    const browser = await chromium.launch(await findChromium());
    cleanup.add(() => browser.close());
    const page = await browser.newPage();
    await page.goto(`${url}/console/messages`);
    await page.getByLabel('Operator token').fill(OPERATOR_TOKEN);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Live', { exact: true }).waitFor(WITHIN);
    await cluster.webhook(0, locationId, { messageId: 'at-the-first' });
    await expect.poll(() => page.getByRole('row').count(), WITHIN).toBe(2);

    await first.kill9();
    await page.getByText('Reconnecting', { exact: true }).waitFor(WITHIN);
    await page.getByText('The service does not respond').first().waitFor(WITHIN);
    expect(await page.getByRole('row').count()).toBe(2);

    target = second.operatorUrl;
    await page.getByText('Live', { exact: true }).waitFor(WITHIN);
    await expect.poll(() => page.getByText('The service does not respond').count(), WITHIN).toBe(0);
    await cluster.webhook(1, locationId, { messageId: 'at-the-second' });
    await expect.poll(() => page.getByRole('row').count(), WITHIN).toBe(3);
    await page.getByRole('row').nth(1).getByRole('link').click();
    await page.getByRole('button', { name: 'Show texts for 15 minutes' }).click();
    await page.getByText('The texts of this location are shown until').waitFor(WITHIN);
  });
});
