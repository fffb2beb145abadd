import { createCleanup } from '@footbridge/testkit/cleanup';
import { MACOS_VERSIONS } from '@footbridge/simulator/chat-db';
import type { MacosVersion } from '@footbridge/simulator/chat-db';

import { runBlueBubbles } from '../../tests/agent/bluebubbles-run.ts';
import { runInbound } from '../../tests/agent/inbound-run.ts';
import { allMacs, casesOf, runCases, sum } from '../../tests/agent/reaction-matrix.ts';
import type { MatrixResult } from '../../tests/agent/reaction-matrix.ts';
import { runSends } from '../../tests/agent/send-run.ts';
import { times } from './outcome.ts';
import type { Outcome } from './outcome.ts';

/** The runs of the agent's tests in full size. */

const isEmpty = (lists: object): boolean =>
  Object.values(lists).every((list) => Array.isArray(list) && list.length === 0);

interface Share {
  readonly jobs: number;
  readonly faults: number;
  readonly kills: number;
}

/** Sends through the agent on simulated Macs, which share the jobs, with faults and kills. */
export async function send(
  options: Share & { readonly seed: number; readonly macs: number; readonly speed: number },
): Promise<Outcome> {
  const { seed, macs, speed } = options;
  const share = (index: number, of: keyof Share) =>
    Math.floor((options[of] * (index + 1)) / macs) - Math.floor((options[of] * index) / macs);
  const reports = await Promise.all(
    Array.from({ length: macs }, (_, index) =>
      runSends({
        jobs: share(index, 'jobs'),
        faults: share(index, 'faults'),
        kills: share(index, 'kills'),
        seed: seed * macs + index,
        speed,
        macos: 26,
      }),
    ),
  );
  const problems = {
    doubled: reports.flatMap(({ doubled }) => doubled),
    misdirected: reports.flatMap(({ misdirected }) => misdirected),
    wrong: reports.flatMap(({ wrong }) => wrong),
    leaks: reports.flatMap(({ leaks }) => leaks),
  };
  const total = (of: 'jobs' | 'interrupted' | 'resolved' | 'resent') =>
    reports.reduce((all, report) => all + report[of], 0);
  const counts = { interrupted: total('interrupted'), resolved: total('resolved'), resent: total('resent') };
  const at = times(reports.flatMap(({ durations }) => durations));
  // Only an idle machine with one Mac measures the agent.
  const isFast = macs > 1 || at(0.95) <= 600;
  return {
    found: { jobs: total('jobs'), ...counts, p50: at(0.5), p95: at(0.95), ...problems },
    isMet: isEmpty(problems) && counts.resolved >= counts.interrupted * 0.9 && isFast,
  };
}

/** Runs the agent over a store that Messages fills, rotates and rebuilds. */
export async function inbound(
  options: Omit<Parameters<typeof runInbound>[0], 'maxDelayMs' | 'macos'> & {
    readonly macos: number;
    readonly 'max-delay': number;
  },
): Promise<Outcome> {
  const { 'max-delay': maxDelayMs, ...rest } = options;
  const macos = MACOS_VERSIONS.find((version) => version === options.macos);
  if (macos === undefined) throw new Error(`--macos is one of ${MACOS_VERSIONS.join(', ')}`);
  const found = await runInbound({ ...rest, maxDelayMs, macos });
  const { rows: _rows, latency, elapsed: _elapsed, ...problems } = found;
  return { found, isMet: isEmpty(problems) && latency.p95 <= 1_000 };
}

/**
 * Reacts to every kind of message with every Tapback, on every simulated macOS version and in every language: --each N takes every
 * Nth case, --macos N one version, --seed N varies how fast Messages follows links. The programs run as they are, without `osascript`.
 */
export async function reactions(options: {
  readonly each: number;
  readonly macos: number;
  readonly seed: number;
}): Promise<Outcome> {
  const results: { macos: MacosVersion; result: MatrixResult }[] = [];
  for (const [index, { macos, language }] of allMacs().entries()) {
    if (options.macos !== 0 && options.macos !== macos) continue;
    const cases = casesOf(macos, language).filter((_, place) => (place + index) % options.each === 0);
    results.push({ macos, result: await runCases(cases, options.seed + index) });
  }
  const summary = (part: typeof results) => {
    const { durations, ...counts } = sum(part.map(({ result }) => result));
    return { ...counts, p95: times(durations)(0.95) };
  };
  const versions = [...Map.groupBy(results, ({ macos }) => macos).values()].map(summary);
  const all = summary(results);
  const isClean = all.strays + all.needless + all.doubled + all.wrong === 0;
  return {
    found: { versions: versions.map(({ cases, p95 }) => ({ cases, p95 })), ...all },
    isMet: isClean && versions.every(({ p95 }) => p95 <= 2_000),
  };
}

/** Sends jobs through the agent and a simulated BlueBubbles server, with faults and kills. */
export async function blueBubbles(options: Share & { readonly seed: number }): Promise<Outcome> {
  const cleanup = createCleanup();
  try {
    const found = await runBlueBubbles(cleanup, options, (done) => {
      if (done % 100 === 0) process.stderr.write(`${done} of ${options.jobs} jobs\n`);
    });
    const { doubledByUs, wrongChat, wrongCode, copiesNotReported, textMs } = found;
    const isClean = isEmpty({ doubledByUs, wrongChat, wrongCode, copiesNotReported });
    return { found, isMet: isClean && textMs.p95 <= 300 };
  } finally {
    await cleanup.run();
  }
}
