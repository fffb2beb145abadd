// Rolling restarts behind nginx under load: node scripts/run.mjs tests/nodes/rolling-load.ts [--runs 20] [--rate 200]
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { activate, connectMac } from '@footbridge/testkit/mac';
import { startNginx } from '@footbridge/testkit/servers/nginx';
import type { Nginx } from '@footbridge/testkit/servers/nginx';
import { createCleanup } from '@footbridge/testkit/cleanup';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';

import { startCluster } from './cluster.ts';
import type { Cluster } from './cluster.ts';

const NODES = ['127.0.0.1:4600', '127.0.0.1:4601', '127.0.0.1:4602'];
const RECONNECT_MS = 20;
/** If the machine is too slow for the rate, further webhooks would only time out. */
const MAX_IN_FLIGHT = 100;
/** What a node itself answers; 502 is nginx's word, and anything else a broken connection. */
export const ANSWERED = ['200', '404', '503'];

/** nginx with the block of docs/operate.md; only the addresses differ. */
export async function documentedNginx(cluster: Cluster, cleanup: Cleanup): Promise<Nginx> {
  const manual = await readFile(new URL('../../docs/operate.md', import.meta.url), 'utf8');
  const [, block = ''] = /```nginx\n([\s\S]*?)```/.exec(manual) ?? [];
  if (!block.includes('listen 8080;') || !NODES.every((node) => block.includes(`server ${node}`)))
    throw new Error('docs/operate.md has no nginx block for three nodes');
  const site = NODES.reduce(
    (text, node, index) => text.replace(node, new URL(cluster.node(index).service.url).host),
    block,
  );
  const nginx = await startNginx((address) => site.replace('listen 8080;', `listen ${address};`));
  cleanup.add(() => nginx.stop());
  return nginx;
}

/** The restart that docs/operate.md describes: stop one node, wait until it is gone, start it, wait until it is ready. */
export async function restartAll(cluster: Cluster): Promise<void> {
  for (const { service } of cluster.nodes) {
    const { code, signal } = await service.halt();
    if (code !== 0) throw new Error(`a node ended with ${code ?? signal}`);
    await service.start();
    await until(async () => (await fetch(`${service.operatorUrl}/readyz`)).ok, {
      within: 60_000,
      every: 50,
      what: 'the node is ready',
    });
  }
}

export interface RollingResult {
  /** Webhooks that were due but not sent, because too many were in flight. */
  readonly skipped: number;
  /** How often each status, or each network error, was the result of a webhook. */
  readonly results: Readonly<Record<string, number>>;
  /** `send` frames that the Mac got. */
  readonly frames: number;
  /** Why the Mac's connections closed. */
  readonly closeCodes: readonly number[];
}

/** Sends up to `rate` webhooks a second through nginx to one Mac that reconnects, for as long as `during` takes. */
export async function underLoad(
  cluster: Cluster,
  nginx: Nginx,
  rate: number,
  during: () => Promise<void>,
): Promise<RollingResult> {
  const locationId = await cluster.location();
  const deviceId = `mac-${randomUUID()}`;
  const { deviceToken = '' } = await activate(nginx.url, { licenseKey: cluster.license.key, deviceId });
  const closeCodes: number[] = [];
  const results: Record<string, number> = {};
  const stopped = new AbortController();
  let frames = 0;
  let inFlight = 0;
  let disconnect = () => {};

  async function reconnect(): Promise<void> {
    while (!stopped.signal.aborted) {
      const mac = await connectMac(nginx.url, { token: deviceToken });
      disconnect = () => mac.terminate();
      await mac.register(locationId);
      const { code } = await mac.closed;
      closeCodes.push(code);
      frames += mac.frames.filter(({ type }) => type === 'send').length;
      await sleep(RECONNECT_MS);
    }
  }

  async function send(): Promise<void> {
    const fields = { locationId, phone: '+15555550100', message: 'Hello' };
    inFlight++;
    const { status, error } = await cluster.crm.sendWebhook(fields, { url: nginx.url });
    inFlight--;
    const result = String(status ?? error);
    results[result] = (results[result] ?? 0) + 1;
  }

  const mac = reconnect();
  await until(async () => send().then(() => results['200'] !== undefined), { within: 60_000, every: 50 });
  const sending: Promise<void>[] = [];
  const started = performance.now();
  let due = 0;
  let skipped = 0;
  const timer = setInterval(() => {
    // Read once: on a slow machine, sending could take longer than the time it makes up for.
    const dueNow = ((performance.now() - started) / 1000) * rate;
    for (; due < dueNow; due++)
      if (inFlight < MAX_IN_FLIGHT) sending.push(send());
      else skipped++;
  }, 5);
  try {
    await during();
  } finally {
    clearInterval(timer);
  }
  await Promise.all(sending);
  stopped.abort();
  // The last frames are on the socket already; a close handshake behind them proves that they arrived.
  await cluster.node(0).service.operator('POST', `/operator/locations/${locationId}/disconnect`);
  const late = setTimeout(() => disconnect(), 30_000);
  await mac;
  clearTimeout(late);
  return { skipped, results, frames, closeCodes };
}

export const ROLLING_ENV = {
  TRUST_PROXY: '127.0.0.1',
  RATE_LIMIT_CRM_WEBHOOK: '1000000',
  DRAIN_GRACE_SEC: '2',
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: { runs: { type: 'string', default: '20' }, rate: { type: 'string', default: '200' } },
  });
  const cleanup = createCleanup();
  const cluster = await startCluster(cleanup, { nodes: 3, faultProxies: false, env: ROLLING_ENV });
  const nginx = await documentedNginx(cluster, cleanup);
  let failed = 0;
  for (let run = 1; run <= Number(values.runs); run++) {
    const { skipped, results, frames } = await underLoad(cluster, nginx, Number(values.rate), () =>
      restartAll(cluster),
    );
    const bad = Object.keys(results).some((result) => !ANSWERED.includes(result));
    if (bad || frames !== results['200']) failed++;
    process.stdout.write(`run ${run}: ${JSON.stringify(results)}, ${frames} frames, ${skipped} not sent\n`);
  }
  for (const line of nginx.errors.filter((one) => !one.includes('Connection refused')))
    process.stdout.write(`${line}\n`);
  await cleanup.run();
  process.stdout.write(`${failed} of ${values.runs} runs with a failed request\n`);
  process.exit(failed === 0 ? 0 : 1);
}
