import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { FLAWLESS } from './score.ts';
import { failedRoundOf, planRounds } from './run-campaign.ts';
import { readReport, readState, writeFile } from './state-file.ts';
import type { CampaignReport, RoundReport } from './report.ts';

const options = {
  messages: 40_000,
  faults: 2000,
  kills: 200,
  seed: 7,
  nodes: 4,
  locations: 6,
  agents: 2,
  roundSize: 1000,
};
const plan = planRounds(options);

/** A finished round as planned. Its faults ended in another order. */
const finished = (round: number, bugs: readonly string[] = []): RoundReport => ({
  round,
  messages: plan[round]?.messages ?? 0,
  seed: plan[round]?.seed ?? 0,
  schedule: (plan[round]?.schedule ?? []).map((fault) => ({ ...fault, from: 0, to: 1 })).toReversed(),
  seconds: 1,
  bucketMs: 1000,
  timeline: [],
  bugs,
  inbound: 1000,
  outbound: 1000,
  atOnce: 1000,
  displaced: 0,
  toldAgain: 0,
  unknownOutcomes: 0,
  forgotten: 0,
  violations: FLAWLESS,
  evidence: [],
  codes: {},
});

describe('the rounds of a campaign', () => {
  it('have all messages and faults of the campaign, and different seeds', () => {
    expect(plan).toHaveLength(40);
    expect(plan.reduce((sum, { messages }) => sum + messages, 0)).toBe(40_000);
    expect(plan.flatMap(({ schedule }) => schedule).map(({ index }) => index)).toEqual(
      Array.from({ length: 2000 }, (_, index) => index),
    );
    expect(new Set(plan.map(({ seed }) => seed)).size).toBe(40);
  });

  it('are the same each time they are planned', () => {
    expect(planRounds(options)).toEqual(plan);
  });

  it('can be run again after a failure, with the faults in their order', () => {
    const report = {
      options,
      startedAt: '',
      rounds: [finished(0), finished(1, ['a bug']), finished(2, ['another'])],
    };
    const again = failedRoundOf(report);
    expect(again?.round).toBe(1);
    expect(again?.seed).toBe(plan[1]?.seed);
    expect(again?.schedule).toMatchObject(plan[1]?.schedule ?? []);
    expect(failedRoundOf({ ...report, rounds: [finished(0)] })).toBeUndefined();
  });
});

describe('the state of a campaign', () => {
  const dir = mkdtempSync(join(tmpdir(), 'footbridge-campaign-'));
  afterAll(() => rmSync(dir, { recursive: true }));
  const path = join(dir, 'deep', 'state.json');
  const state: CampaignReport = { options, startedAt: 'now', rounds: [finished(0)] };

  it('is read back by a campaign with the same options', () => {
    writeFile(path, JSON.stringify(state));
    expect(readState(path, options)).toEqual(state);
    expect(readReport(path)).toEqual(state);
  });

  it('is rejected by a campaign with other options, which are named', () => {
    expect(() => readState(path, { ...options, seed: 8, nodes: 3 })).toThrow('another value of: seed, nodes');
  });
});
