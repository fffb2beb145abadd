import { parseArgs } from 'node:util';

import { MACOS_VERSIONS } from '@footbridge/simulator/chat-db';

import { runInbound } from '../../tests/agent/inbound-run.ts';

/** Runs the agent over a store that Messages fills, rotates and rebuilds, and fails when a message is lost, doubled or out of order. */
const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '10000' },
    rotations: { type: 'string', default: '200' },
    rebuilds: { type: 'string', default: '5' },
    sleeps: { type: 'string', default: '20' },
    kills: { type: 'string', default: '20' },
    rate: { type: 'string', default: '40' },
    'max-delay': { type: 'string', default: '3000' },
    macos: { type: 'string', default: '26' },
    seed: { type: 'string', default: '1' },
  },
});
const MAX_P95_MS = 1_000;

const macos = MACOS_VERSIONS.find((version) => version === Number(values.macos));
if (macos === undefined) throw new Error(`--macos is one of ${MACOS_VERSIONS.join(', ')}`);
const report = await runInbound({
  rows: Number(values.rows),
  rotations: Number(values.rotations),
  rebuilds: Number(values.rebuilds),
  sleeps: Number(values.sleeps),
  kills: Number(values.kills),
  rate: Number(values.rate),
  maxDelayMs: Number(values['max-delay']),
  macos,
  seed: Number(values.seed),
});
const { rows, latency, elapsed, ...problems } = report;
const counts = Object.entries(problems).map(([name, found]) => `${found.length} ${name}`);
process.stdout.write(`${rows} messages, seed ${values.seed}: ${counts.join(', ')}\n`);
for (const [name, { p50, p95, max }] of Object.entries({ latency, elapsed }))
  process.stdout.write(`${name} p50 ${p50} ms, p95 ${p95} ms, max ${max} ms\n`);
for (const [name, found] of Object.entries(problems))
  if (found.length > 0) process.stdout.write(`${name}: ${found.slice(0, 10).join(', ')}\n`);
const isClean = Object.values(problems).every((found) => found.length === 0);
process.exitCode = isClean && latency.p95 <= MAX_P95_MS ? 0 : 1;
