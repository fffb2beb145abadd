import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';
import { describe, expect, it } from 'vitest';

import { runCampaign } from './campaign/run-campaign.ts';
import { FLAWLESS } from './campaign/score.ts';

const canRun = (await hasRedis()) && (await hasPostgres());

describe.skipIf(!canRun)('a small campaign', () => {
  it('I6 messages both ways while nodes, servers, the CRM and Macs fail: none lost, doubled or out of order, one owner at a time, no false answer', async () => {
    const { rounds } = await runCampaign({
      messages: 150,
      faults: 15,
      kills: 2,
      seed: 7,
      nodes: 2,
      locations: 3,
      agents: 1,
      roundSize: 1000,
    });
    expect(rounds).toMatchObject([
      { inbound: 150, outbound: 150, evidence: [], violations: FLAWLESS, bugs: [] },
    ]);
    expect(rounds[0]?.schedule).toHaveLength(15);
  }, 300_000);
});
