import { mkdirSync, writeFileSync } from 'node:fs';
import process from 'node:process';

import { ed25519Key } from '@footbridge/testkit/keys';
import { hasPostgres } from '@footbridge/testkit/servers/postgres';
import { hasRedis } from '@footbridge/testkit/servers/redis';

import { durableFloor, fastFloor, floor, footbridge } from './candidates.ts';
import { withHarness } from './harness.ts';
import type { Harness, RunningCandidate } from './harness.ts';
import { guard, recordRatios } from './guard.ts';
import { residentBytes } from './measure/process-costs.ts';
import { findPinning } from './measure/pinning.ts';
import { ratios, spread } from './measure/statistics.ts';
import { readOptions } from './options.ts';
import type { Options, Section } from './options.ts';
import { Profiles } from './profiles.ts';
import { report } from './report.ts';
import { emptyResults, pathCosts } from './results.ts';
import type { FlatRow, Results } from './results.ts';
import { measureTwoNodes } from './scenarios/cluster.ts';
import { measureCosts, warmUp } from './scenarios/costs.ts';
import { measureFlatness } from './scenarios/flatness.ts';
import type { FlatCandidate, Flatness } from './scenarios/flatness.ts';
import { measureLatencies } from './scenarios/latencies.ts';
import { measureMemory } from './scenarios/memory.ts';
import { forged, inbound, notConnected, outbound, unsigned } from './scenarios/work.ts';
import type { Work } from './scenarios/work.ts';
import { CRM_LATENCIES_MS, HALF_LOAD, judge, slowCrmLoad, STEADY_LOAD } from './targets.ts';

const QUICK_MS = 80_000;
/** V8 compiles functions until about 28,000 messages have passed. */
const WARM_UP_MESSAGES = 30_000;
const PATHS: Record<'outbound' | 'inbound' | 'rejections', Record<string, Work>> = {
  outbound: { outbound },
  inbound: { inbound },
  rejections: { '401 by form': unsigned, '401 by cryptography': forged, '404 not connected': notConnected },
};

/** The sections that all candidates share; the others start what they need. */
const SHARED_SECTIONS = ['outbound', 'inbound', 'rejections', 'latency', 'slow-crm', 'memory'] as const;

const options = readOptions(process.argv.slice(2));
if (typeof options === 'string') {
  console.log(options);
  process.exit(2);
}
if (options.guard) process.exitCode = await guard(process.arch);
else await bench(options);

async function bench(run: Options): Promise<void> {
  const begun = Date.now();
  const pinning = findPinning();
  const results = emptyResults(pinning.note === undefined);
  const profiles = run.profileFolder === undefined ? undefined : new Profiles(run.profileFolder);
  const wants = (section: Section) => run.sections.includes(section);
  await withHarness({ pinning, crmTls: run.crmTls, profileFolder: profiles?.folder }, async (harness) => {
    const candidates = SHARED_SECTIONS.some(wants) ? await startAll(harness, run) : [];
    const named = (...names: string[]) => candidates.filter((candidate) => names.includes(candidate.name));
    await costs(harness, candidates, run, results, profiles, run.quick ? begun + QUICK_MS : Infinity);
    if (wants('latency') || wants('slow-crm'))
      for (const work of [outbound, inbound])
        await warmUp(harness, candidates, work, Math.max(run.macs, WARM_UP_MESSAGES));
    if (wants('latency')) await latencies(harness, named('floor', 'footbridge'), results);
    if (wants('slow-crm')) await slowCrm(harness, named('floor', 'footbridge'), results);
    if (wants('memory'))
      for (const candidate of named('footbridge')) {
        say(`memory over ${run.memoryMessages} messages`);
        results.memory[candidate.name] = await measureMemory(harness, candidate, run.memoryMessages);
      }
    for (const candidate of candidates) await harness.stop(candidate);
    if (wants('macs')) await flatOverMacs(harness, run, results);
    if (wants('keys')) await flatOverKeys(harness, run, results);
    if (wants('confirmations')) await withConfirmations(harness, run, results);
    if (wants('nodes')) await twoNodes(harness, run, results);
  });
  if (profiles !== undefined) console.log(`\n${profiles.report()}`);
  const verdicts = judge(results);
  console.log(`\n${report(results, verdicts)}\n`);
  const folder = new URL('results/', import.meta.url);
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL('latest.json', folder), JSON.stringify({ ...results, verdicts }, null, 2));
  console.log(`written to bench/results/latest.json after ${Math.round((Date.now() - begun) / 1000)} s`);
  if (run.record) recordRatios(results);
}

function say(progress: string): void {
  console.log(`… ${progress}`);
}

async function startAll(harness: Harness, run: Options): Promise<RunningCandidate[]> {
  const running: RunningCandidate[] = [];
  const all = [floor(), floor('floor again'), fastFloor(), durableFloor(), footbridge()];
  for (const candidate of all) {
    if (run.without.includes(candidate.name)) continue;
    say(`${candidate.name}: starting, ${run.macs} Macs connecting`);
    running.push(await harness.start(candidate, run.macs));
  }
  return running;
}

async function costs(
  harness: Harness,
  candidates: readonly RunningCandidate[],
  run: Options,
  results: Results,
  profiles: Profiles | undefined,
  until: number,
): Promise<void> {
  const sections = (['outbound', 'inbound', 'rejections'] as const).filter((one) =>
    run.sections.includes(one),
  );
  const works = Object.entries(
    Object.assign({}, ...sections.map((one) => PATHS[one])) as Record<string, Work>,
  );
  for (const [index, [path, work]] of works.entries()) {
    say(`${path}: warming up, then ${run.rounds} rounds of ${run.messages}`);
    // The remaining time is divided evenly; outbound, the longest, counts twice.
    const share = (index === 0 ? 2 : 1) / (works.length - index + (index === 0 ? 1 : 0));
    const deadline = Date.now() + (until - Date.now()) * share;
    await warmUp(
      harness,
      candidates,
      work,
      Math.max(run.macs, run.quick ? run.messages * 4 : WARM_UP_MESSAGES),
    );
    const rounds = { rounds: run.rounds, messages: run.messages, until: deadline };
    const found = await measureCosts(harness, candidates, work, rounds, profiles?.watch(path));
    results.costs[path] = pathCosts(found);
  }
}

async function latencies(
  harness: Harness,
  candidates: readonly RunningCandidate[],
  results: Results,
): Promise<void> {
  const steady = { outbound: 200, inbound: 200, seconds: 8, repeats: 3 };
  say(STEADY_LOAD);
  results.latencies[STEADY_LOAD] = await measureLatencies(harness, candidates, () => steady);
  say(`latency at ${HALF_LOAD}`);
  const found = await measureCosts(harness, candidates, outbound, { rounds: 3, messages: 1000 });
  results.latencies[HALF_LOAD] = await measureLatencies(harness, candidates, ({ name }) => {
    const saturation = 1e6 / spread(found[name] ?? []).median;
    return { ...steady, outbound: Math.round(saturation / 2), inbound: 0 };
  });
}

async function slowCrm(
  harness: Harness,
  candidates: readonly RunningCandidate[],
  results: Results,
): Promise<void> {
  for (const crmLatencyMs of CRM_LATENCIES_MS) {
    const when = slowCrmLoad(crmLatencyMs);
    say(when);
    const rates = { outbound: 800, inbound: 0, seconds: 8, repeats: 3, crmLatencyMs };
    results.latencies[when] = await measureLatencies(harness, candidates, () => rates);
  }
}

async function flatOverMacs(harness: Harness, run: Options, results: Results): Promise<void> {
  const candidates: FlatCandidate[] = [];
  for (const macs of [10, 1_000, 10_000]) {
    say(`Footbridge with ${macs} Macs connecting`);
    candidates.push({ candidate: await harness.start(footbridge({ name: `${macs} Macs` }), macs) });
  }
  results.flatness['connected Macs'] = await flatRows(harness, candidates, run.rounds);
}

async function flatOverKeys(harness: Harness, run: Options, results: Results): Promise<void> {
  const keys = Array.from({ length: 99 }, () => ed25519Key());
  say('Footbridge with 1 key and with 100 keys');
  const one = await harness.start(footbridge({ name: '1 key' }), 10);
  const moreKeys = keys.map(({ publicKey }) => publicKey);
  const hundred = await harness.start(footbridge({ name: '100 keys', moreKeys }), 10);
  const candidates = [{ candidate: one }, { candidate: hundred, keys }];
  results.flatness['trusted keys'] = await flatRows(harness, candidates, run.rounds);
}

async function withConfirmations(harness: Harness, run: Options, results: Results): Promise<void> {
  say('Footbridge with Macs that confirm every message, and with Macs that do not');
  const without = await harness.start(footbridge({ name: 'unconfirmed', confirms: false }), run.macs);
  const confirmed = await harness.start(footbridge({ name: 'confirmed' }), run.macs);
  const candidates = [without, confirmed];
  await warmUp(harness, candidates, outbound, 10 * run.messages);
  const micros = await measureCosts(harness, candidates, outbound, run);
  results.flatness['confirmations'] = await rowsOf(harness, candidates, { micros, backgroundPerSecond: {} });
}

async function twoNodes(harness: Harness, run: Options, results: Results): Promise<void> {
  say('two nodes on one Redis and one PostgreSQL');
  if (!(await hasRedis()) || !(await hasPostgres()))
    return say('two nodes: skipped, Redis or PostgreSQL is missing');
  const { latencies: tails, ...nodes } = await measureTwoNodes(harness, run);
  results.nodes = nodes;
  results.latencies['200 per second, two nodes'] = tails;
}

async function flatRows(
  harness: Harness,
  candidates: readonly FlatCandidate[],
  rounds: number,
): Promise<FlatRow[]> {
  say(`${candidates.map(({ candidate }) => candidate.name).join(', ')}: ${rounds} rounds of ten seconds`);
  const found = await measureFlatness(harness, candidates, rounds);
  const running = candidates.map(({ candidate }) => candidate);
  return rowsOf(harness, running, found);
}

/** Compares the candidates with the first one, and stops them. */
async function rowsOf(
  harness: Harness,
  candidates: readonly RunningCandidate[],
  { micros, backgroundPerSecond }: Flatness,
): Promise<FlatRow[]> {
  const first = micros[candidates[0]?.name ?? ''] ?? [];
  const rows = candidates.map(({ name, pid }) => ({
    name,
    micros: spread(micros[name] ?? []),
    toFirst: spread(ratios(micros[name] ?? [], first)),
    backgroundPerSecond: backgroundPerSecond[name],
    residentMegabytes: residentBytes(pid) / 1024 / 1024,
  }));
  for (const candidate of candidates) await harness.stop(candidate);
  return rows;
}
