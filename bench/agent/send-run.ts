import { parseArgs } from 'node:util';

import { runSends } from '../../tests/agent/send-run.ts';
import type { SendReport } from '../../tests/agent/send-run.ts';

/** Sends through the agent on simulated Macs with faults and kills, and fails when a message is doubled, misdirected or misreported. */
const { values } = parseArgs({
  options: {
    jobs: { type: 'string', default: '2000' },
    faults: { type: 'string', default: '400' },
    kills: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    /** The number of simulated Macs, which share the jobs. */
    macs: { type: 'string', default: '4' },
    speed: { type: 'string', default: '10' },
  },
});
const MIN_RESOLVED = 0.9;
const MAX_P95_MS = 600;

const macs = Number(values.macs);
const share = (total: string, index: number): number =>
  Math.floor((Number(total) * (index + 1)) / macs) - Math.floor((Number(total) * index) / macs);
const reports = await Promise.all(
  Array.from({ length: macs }, (_, index) =>
    runSends({
      jobs: share(values.jobs, index),
      faults: share(values.faults, index),
      kills: share(values.kills, index),
      seed: Number(values.seed) * macs + index,
      speed: Number(values.speed),
      macos: 26,
    }),
  ),
);
const all = <K extends keyof SendReport>(field: K): SendReport[K][] => reports.map((report) => report[field]);
const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
const problems = {
  doubled: all('doubled').flat(),
  misdirected: all('misdirected').flat(),
  wrong: all('wrong').flat(),
  leaks: all('leaks').flat(),
};
const [interrupted, resolved] = [sum(all('interrupted')), sum(all('resolved'))];
const durations = all('durations')
  .flat()
  .sort((one, other) => one - other);
const at = (part: number): number => Math.round(durations[Math.floor(durations.length * part)] ?? 0);
const counts = Object.entries(problems).map(([name, found]) => `${found.length} ${name}`);
process.stdout.write(`${sum(all('jobs'))} jobs, seed ${values.seed}: ${counts.join(', ')}\n`);
process.stdout.write(`${resolved} of ${interrupted} interrupted sends resolved\n`);
process.stdout.write(
  `${sum(all('resent'))} requests sent again: the agent was killed before it confirmed them\n`,
);
process.stdout.write(`texts: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms\n`);
for (const [name, found] of Object.entries(problems))
  for (const problem of found.slice(0, 20)) process.stdout.write(`${name}: ${problem}\n`);
const isClean = Object.values(problems).every((found) => found.length === 0);
const isResolved = resolved >= interrupted * MIN_RESOLVED;
// Only an idle machine with one Mac measures the agent.
const isFast = macs > 1 || at(0.95) <= MAX_P95_MS;
process.exitCode = isClean && isResolved && isFast ? 0 : 1;
