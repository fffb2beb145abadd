import { expect, it } from 'vitest';

import { faultKinds } from './fault-kinds.ts';
import { createSchedule } from './schedule.ts';
import { FLAWLESS } from './score.ts';
import { shrinkRound } from './shrink-round.ts';
import type { RoundReport } from './report.ts';
import type { RoundOptions } from './round.ts';

const round: RoundOptions = {
  round: 3,
  messages: 1000,
  seed: 5,
  nodes: 4,
  locations: 6,
  agents: 2,
  schedule: createSchedule({ seed: 5, faults: 40, kills: 4, kinds: faultKinds({ agents: 2 }) }),
};

/** A service that loses a message when faults 12 and 31 meet at least 200 messages. */
const run = ({ schedule, messages, seed, round: number }: RoundOptions): Promise<RoundReport> => {
  const indexes = new Set(schedule.map(({ index }) => index));
  const isLost = indexes.has(12) && indexes.has(31) && messages >= 200;
  return Promise.resolve({
    round: number,
    messages,
    seed,
    seconds: 1,
    schedule: schedule.map((fault) => ({ ...fault, from: 0, to: 1 })),
    bucketMs: 1000,
    timeline: [],
    bugs: [],
    inbound: messages,
    outbound: messages,
    atOnce: messages,
    displaced: 0,
    toldAgain: 0,
    unknownOutcomes: 0,
    forgotten: 0,
    violations: { ...FLAWLESS, lost: isLost ? 1 : 0 },
    evidence: isLost ? ['lost: one'] : [],
    codes: {},
  });
};

it('shrinks a failed round to the faults and messages that it needs', async () => {
  const trials: boolean[] = [];
  const smallest = await shrinkRound(round, {
    budget: 200,
    run,
    onTrial: (_, failed) => trials.push(failed),
  });
  expect(smallest?.schedule.map(({ index }) => index)).toEqual([12, 31]);
  expect(smallest?.messages).toBe(250);
  expect(smallest?.evidence).toEqual(['lost: one']);
  expect(trials.length).toBeLessThanOrEqual(200);
});
