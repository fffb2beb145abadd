import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import process from 'node:process';

import { openArena } from './arena.ts';
import type { Arena, Lane } from './arena.ts';
import { footbridge } from './contestants/footbridge.ts';
import { fastFloor, floor, reference } from './contestants/plain.ts';
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
import { measureCosts, warmUp } from './scenarios/costs.ts';
import { measureFlatness } from './scenarios/flatness.ts';
import type { FlatLane } from './scenarios/flatness.ts';
import { measureLatencies } from './scenarios/latencies.ts';
import { measureMemory } from './scenarios/memory.ts';
import { measureNodes } from './scenarios/nodes.ts';
import { forged, inbound, notConnected, outbound, unsigned } from './scenarios/work.ts';
import type { Work } from './scenarios/work.ts';
import { judge } from './targets.ts';

const QUICK_MS = 80_000;
const PATHS: Record<'outbound' | 'inbound' | 'refusals', Record<string, Work>> = {
  outbound: { outbound },
  inbound: { inbound },
  refusals: { '401 by form': unsigned, '401 by cryptography': forged, '404 not connected': notConnected },
};

/** The sections that all contestants share; the others start what they need. */
const LANE_SECTIONS = ['outbound', 'inbound', 'refusals', 'latency', 'slow-crm', 'memory'] as const;

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
  if (pinning.note !== undefined) console.log(`note: ${pinning.note}`);
  const results = emptyResults(pinning.note === undefined);
  const profiles = run.profileFolder === undefined ? undefined : new Profiles(run.profileFolder);
  const arena = await openArena({ pinning, profileFolder: profiles?.folder });
  const wants = (section: Section) => run.sections.includes(section);
  try {
    const lanes = LANE_SECTIONS.some(wants) ? await enterAll(arena, run) : [];
    const named = (...names: string[]) => lanes.filter((lane) => names.includes(lane.name));
    await costs(arena, lanes, run, results, profiles, run.quick ? begun + QUICK_MS : Infinity);
    if (wants('latency') || wants('slow-crm'))
      for (const work of [outbound, inbound]) await warmUp(arena, lanes, work, 2 * run.macs);
    if (wants('latency')) await latencies(arena, named('floor', 'reference', 'footbridge'), results);
    if (wants('slow-crm')) await slowCrm(arena, named('floor', 'footbridge'), results);
    if (wants('memory'))
      for (const lane of named('footbridge')) {
        say(`memory over ${run.memoryMessages} messages`);
        results.memory[lane.name] = await measureMemory(arena, lane, run.memoryMessages);
      }
    for (const lane of lanes) await arena.leave(lane);
    if (wants('macs')) await flatOverMacs(arena, run, results);
    if (wants('keys')) await flatOverKeys(arena, run, results);
    if (wants('nodes')) await twoNodes(arena, run, results);
  } finally {
    await arena.stop();
  }
  if (profiles !== undefined) console.log(`\n${profiles.report()}`);
  const verdicts = judge(results);
  console.log(`\n${report(results, verdicts)}\n`);
  const folder = new URL('results/', import.meta.url);
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL('latest.json', folder), JSON.stringify({ ...results, verdicts }, null, 2));
  console.log(`written to bench/results/latest.json after ${Math.round((Date.now() - begun) / 1000)} s`);
  if (run.record) recordRatios(results);
}

function say(what: string): void {
  console.log(`… ${what}`);
}

async function enterAll(arena: Arena, run: Options): Promise<Lane[]> {
  const contestants = [floor(), floor('floor again'), fastFloor(), reference(), footbridge()];
  const lanes: Lane[] = [];
  for (const contestant of contestants) {
    if (run.without.includes(contestant.name)) continue;
    say(`${contestant.name}: starting, ${run.macs} Macs connecting`);
    lanes.push(await arena.enter(contestant, run.macs));
  }
  return lanes;
}

async function costs(
  arena: Arena,
  lanes: readonly Lane[],
  run: Options,
  results: Results,
  profiles: Profiles | undefined,
  until: number,
): Promise<void> {
  const sections = (['outbound', 'inbound', 'refusals'] as const).filter((one) => run.sections.includes(one));
  const works = Object.entries(
    Object.assign({}, ...sections.map((one) => PATHS[one])) as Record<string, Work>,
  );
  for (const [index, [path, work]] of works.entries()) {
    say(`${path}: warming up, then ${run.rounds} rounds of ${run.messages}`);
    // What is left of the time is shared out evenly; outbound, the longest, counts twice.
    const share = (index === 0 ? 2 : 1) / (works.length - index + (index === 0 ? 1 : 0));
    const deadline = Date.now() + (until - Date.now()) * share;
    await warmUp(arena, lanes, work, Math.max(run.macs, run.messages * (run.quick ? 4 : 10)));
    const rounds = { rounds: run.rounds, messages: run.messages, until: deadline };
    const found = await measureCosts(arena, lanes, work, rounds, profiles?.watch(path));
    results.costs[path] = pathCosts(found);
  }
}

async function latencies(arena: Arena, lanes: readonly Lane[], results: Results): Promise<void> {
  const steady = { outbound: 200, inbound: 200, seconds: 8, repeats: 3 };
  say('latency at 200 out + 200 in per second');
  results.latencies['200 out + 200 in per second'] = await measureLatencies(arena, lanes, () => steady);
  say('latency at half of saturation');
  const found = await measureCosts(arena, lanes, outbound, { rounds: 3, messages: 1000 });
  const saturation = (lane: Lane) => 1e6 / spread(found[lane.name] ?? []).median;
  results.latencies['half of saturation'] = await measureLatencies(arena, lanes, (lane) => ({
    ...steady,
    outbound: Math.round(saturation(lane) / 2),
    inbound: 0,
  }));
}

async function slowCrm(arena: Arena, lanes: readonly Lane[], results: Results): Promise<void> {
  say('800 per second with a CRM that answers in 50 ms');
  const rates = { outbound: 800, inbound: 0, seconds: 8, repeats: 3, crmLatencyMs: 50 };
  results.latencies['800 per second, CRM answers in 50 ms'] = await measureLatencies(
    arena,
    lanes,
    () => rates,
  );
}

async function flatOverMacs(arena: Arena, run: Options, results: Results): Promise<void> {
  const lanes: FlatLane[] = [];
  for (const macs of [10, 1_000, 10_000]) {
    say(`Footbridge with ${macs} Macs connecting`);
    lanes.push({ lane: await arena.enter(footbridge({ name: `${macs} Macs` }), macs) });
  }
  results.flatness['connected Macs'] = await flatRows(arena, lanes, run.rounds);
}

async function flatOverKeys(arena: Arena, run: Options, results: Results): Promise<void> {
  const pairs = Array.from({ length: 99 }, () =>
    generateKeyPairSync('ed25519', {
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    }),
  );
  say('Footbridge with 1 key and with 100 keys');
  const one = await arena.enter(footbridge({ name: '1 key' }), 10);
  const moreKeys = pairs.map((pair) => pair.publicKey);
  const hundred = await arena.enter(footbridge({ name: '100 keys', moreKeys }), 10);
  results.flatness['trusted keys'] = await flatRows(
    arena,
    [{ lane: one }, { lane: hundred, privateKeys: pairs.map((pair) => pair.privateKey) }],
    run.rounds,
  );
}

async function twoNodes(arena: Arena, run: Options, results: Results): Promise<void> {
  say('two nodes on one Redis and one PostgreSQL');
  const found = await measureNodes(arena, run);
  if (found === undefined) return say('two nodes: skipped, Redis or PostgreSQL is missing');
  const { local, across, brokerLocal, brokerAcross, latencies: tails } = found;
  results.nodes = {
    local: spread(local),
    across: spread(across),
    toLocal: spread(ratios(across, local)),
    brokerLocal: spread(brokerLocal),
    brokerAcross: spread(brokerAcross),
  };
  results.latencies['200 per second, two nodes'] = tails;
}

async function flatRows(arena: Arena, lanes: readonly FlatLane[], rounds: number): Promise<FlatRow[]> {
  say(`${lanes.map(({ lane }) => lane.name).join(', ')}: ${rounds} rounds of ten seconds`);
  const found = await measureFlatness(arena, lanes, rounds);
  const first = found.micros[lanes[0]?.lane.name ?? ''] ?? [];
  const rows = lanes.map(({ lane: { name, pid } }) => ({
    name,
    micros: spread(found.micros[name] ?? []),
    toFirst: spread(ratios(found.micros[name] ?? [], first)),
    backgroundPerSecond: found.backgroundPerSecond[name] ?? Number.NaN,
    residentMegabytes: residentBytes(pid) / 1024 / 1024,
  }));
  for (const { lane } of lanes) await arena.leave(lane);
  return rows;
}
