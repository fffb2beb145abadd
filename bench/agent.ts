// Measures the agent on a simulated Mac: node scripts/run.mjs bench/agent.ts NAME [--option N …]. Exits with 1 if a target is missed.
import process from 'node:process';

import { idle, outbox, store, tapbacks } from './agent/measurements.ts';
import type { Outcome } from './agent/outcome.ts';
import { blueBubbles, inbound, reactions, send } from './agent/runs.ts';
import { numberOptions } from './measure/number-options.ts';

/** A measurement with the defaults of its options. */
const measurement =
  <Name extends string>(
    defaults: Readonly<Record<Name, number>>,
    run: (options: Record<Name, number>) => Promise<Outcome>,
  ) =>
  (args: string[]) =>
    run(numberOptions(defaults, args));

const MEASUREMENTS: Readonly<Record<string, (args: string[]) => Promise<Outcome>>> = {
  send: measurement({ jobs: 2000, faults: 400, kills: 100, seed: 1, macs: 4, speed: 10 }, send),
  inbound: measurement(
    {
      rows: 10_000,
      rotations: 200,
      rebuilds: 5,
      sleeps: 20,
      kills: 20,
      rate: 40,
      'max-delay': 3000,
      macos: 26,
      seed: 1,
    },
    inbound,
  ),
  reactions: measurement({ each: 1, macos: 0, seed: 1 }, reactions),
  bluebubbles: measurement({ jobs: 1000, faults: 300, kills: 50, seed: 1 }, blueBubbles),
  idle: measurement({ seconds: 60 }, idle),
  outbox: measurement({ frames: 10_000 }, outbox),
  store: measurement({ repeats: 2000 }, store),
  tapbacks: measurement({ count: 30 }, tapbacks),
};
const MAX_LISTED = 20;

const [name = '', ...args] = process.argv.slice(2);
const run = MEASUREMENTS[name];
if (run === undefined) throw new Error(`name one of ${Object.keys(MEASUREMENTS).join(', ')}`);
const { found, isMet } = await run(args);
const shortened = (_: string, value: unknown) => (Array.isArray(value) ? value.slice(0, MAX_LISTED) : value);
process.stdout.write(`${JSON.stringify(found, shortened, 2)}\n${isMet ? 'targets met' : 'target missed'}\n`);
process.exitCode = isMet ? 0 : 1;
