// Messages both ways while nodes, Redis, PostgreSQL and sockets break: node scripts/run.mjs tests/nodes/campaign.ts --messages 5000 --faults 150 [--seed 1] [--nodes 2] [--locations 8]
import { parseArgs } from 'node:util';

import { createCleanup } from '@footbridge/testkit/cleanup';

import { createMonkey } from './faults.ts';
import { openHouse } from './house.ts';
import { traffic } from './traffic.ts';
import type { TrafficScore } from './traffic.ts';

export interface CampaignOptions {
  /** Each way. */
  readonly messages: number;
  readonly faults: number;
  readonly seed: number;
  readonly nodes?: number;
  readonly locations?: number;
}

export interface CampaignScore extends TrafficScore {
  /** How often each thing was broken, and when. */
  readonly struck: Readonly<Record<string, number>>;
  readonly history: readonly string[];
}

const MONKEYS = 2;

export async function campaign(options: CampaignOptions): Promise<CampaignScore> {
  const { messages, faults, seed, nodes = 2, locations = 8 } = options;
  const cleanup = createCleanup();
  try {
    const env = { RATE_LIMIT_CRM_WEBHOOK: '1000000', RATE_LIMIT_MAC_SOCKET: '1000000' };
    const house = await openHouse(cleanup, { nodes, env });
    const struck: Record<string, number> = {};
    const history: string[] = [];
    const tell = (name: string, from: number, to: number) => {
      struck[name] = (struck[name] ?? 0) + 1;
      history.push(`${Math.round(from)}–${Math.round(to)} ms: ${name}`);
    };
    const score = await traffic(house, { messages, seed, locations }, (macs, random) => ({
      steps: faults,
      atOnce: MONKEYS,
      step: createMonkey(house, macs, random, tell),
    }));
    return { ...score, struck, history };
  } finally {
    await cleanup.run();
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      messages: { type: 'string', default: '5000' },
      faults: { type: 'string', default: '150' },
      seed: { type: 'string', default: '1' },
      nodes: { type: 'string', default: '2' },
      locations: { type: 'string', default: '8' },
    },
  });
  const began = performance.now();
  const { codes, struck, history, bugs, faults, evidence, ...score } = await campaign({
    messages: Number(values.messages),
    faults: Number(values.faults),
    seed: Number(values.seed),
    nodes: Number(values.nodes),
    locations: Number(values.locations),
  });
  const seconds = Math.round((performance.now() - began) / 1000);
  const figures = Object.entries({ ...score, ...faults, bugs: bugs.length, seconds });
  const list = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([name, count]) => `${count} × ${name}`)
      .join(', ');
  const lines = [
    figures.map(([name, value]) => `${name}=${value}`).join(' '),
    `answers: ${list(codes)}`,
    `broken: ${list(struck)}`,
    ...(evidence.length > 0 ? history : []),
    ...evidence,
    ...bugs,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  process.exit(evidence.length + bugs.length === 0 ? 0 : 1);
}
