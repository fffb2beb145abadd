import { randomUUID } from 'node:crypto';

import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startCluster } from './cluster.ts';
import type { Cluster } from './cluster.ts';
import { FLAWLESS } from './campaign/score.ts';
import { startLoadBalancer, unexpectedResponses } from './load-balancer.ts';
import { traffic } from './traffic.ts';

const canRun = (await hasRedis()) && (await hasPostgres());

describe.skipIf(!canRun)('a rolling restart of three nodes', () => {
  const closing = createCleanup();
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster(closing, {
      nodes: 3,
      faultProxies: false,
      env: { RATE_LIMIT_CRM_WEBHOOK: '1000000', RATE_LIMIT_ENROLMENT: '1000', DRAIN_GRACE_SEC: '2' },
    });
  }, 300_000);
  afterAll(async () => {
    const bugs = await cluster.bugs();
    await closing.run();
    expect(bugs).toEqual([]);
  }, 300_000);

  const readiness = (index: number) =>
    fetch(`${cluster.node(index).service.operatorUrl}/readyz`).then(
      async (answer) => [answer.status, await answer.json()],
      () => ['gone'],
    );

  it('I6 under load both ways loses nothing, doubles nothing and answers nothing but 200, 404 and 503', async () => {
    const codes: (number | null)[] = [];
    let turn = 0;
    const balancer = startLoadBalancer(cluster);
    const balanced: Cluster = {
      ...cluster,
      webhook: (random, ...rest) => cluster.webhook(balancer.choose(random), ...rest),
    };
    const score = await traffic(balanced, { messages: 600, seed: 5, locations: 6 }, () => ({
      steps: 3,
      atOnce: 1,
      async step() {
        const index = turn++;
        const { service } = cluster.node(index);
        const { code } = await service.halt();
        codes.push(code);
        await service.start();
        await until(async () => (await readiness(index))[0] === 200, { within: 60_000, every: 50 });
      },
    }));
    balancer.stop();
    expect(score).toMatchObject({
      inbound: 600,
      outbound: 600,
      evidence: [],
      violations: FLAWLESS,
      toldAgain: 0,
      bugs: [],
    });
    expect(unexpectedResponses(score)).toEqual([]);
    expect(codes).toEqual([0, 0, 0]);
  }, 300_000);

  it('H1 a node that drains says so at /readyz until its Macs are gone, and closes them with 1001', async () => {
    const location = await cluster.location();
    const mac = await cluster.mac(1, location);
    const crowd = await Promise.all(
      Array.from({ length: 40 }, (_, index) => cluster.mac(1, `${location}${index}`)),
    );
    const { service } = cluster.node(1);
    expect(await readiness(1)).toEqual([200, { status: 'ok', checks: { redis: 'ok', store: 'ok' } }]);
    // A call under way holds the drain up for a moment.
    cluster.crm.injectFault({ match: 'inbound', locationId: location, how: { answerDelayMs: 1500 } });
    const frame = { sender: '+15555550100', text: 'under way', guid: randomUUID().toUpperCase() };
    const seq = mac.received(frame);
    await until(() => cluster.crm.callsTo('inbound').some((call) => call.locationId === location), {
      within: 60_000,
    });
    const halted = service.halt();
    const seen: unknown[] = [];
    await until(
      async () => {
        seen.push(await readiness(1));
        return seen.at(-1)?.toString() === 'gone';
      },
      { within: 60_000, every: 20 },
    );
    expect(seen).toContainEqual([503, { status: 'draining' }]);
    for (const one of [mac, ...crowd]) expect(await one.closed).toMatchObject({ code: 1001 });
    expect((await halted).code).toBe(0);
    // The Mac heard that its message was delivered before it was sent away.
    expect(await mac.ack(seq)).toMatchObject({ outcome: 'delivered' });
    await service.start();
    // What the CRM took before the end is not brought to it again.
    const back = await cluster.mac(1, location);
    expect(await back.ack(back.received(frame), 60_000)).toMatchObject({ outcome: 'delivered' });
    back.terminate();
    expect(cluster.crm.callsTo('inbound').filter((call) => call.locationId === location)).toHaveLength(1);
  }, 300_000);
});
