import type { Arrivals } from '../environment/crm.ts';
import type { BenchEnvironment } from '../environment/environment.ts';
import type { Kind, LoadResult } from '../environment/load.ts';
import { locationNames } from '../environment/messages.ts';
import type { RunningCandidate } from '../harness.ts';

/** A workload: `prepare` runs once, then `perform` on each candidate with the same bytes. */
export interface Work {
  /** The wait for deferred work (write-behind journal, log flush), whose CPU is attributed to the messages. */
  readonly settleMs: number;
  prepare(environment: BenchEnvironment, locations: readonly string[], count: number): Promise<number>;
  /** Resolves when all messages are processed completely. Rejects if any was processed incorrectly. */
  perform(
    environment: BenchEnvironment,
    candidate: RunningCandidate,
    run: number,
    count: number,
  ): Promise<void>;
}

export const CONCURRENCY = 32;
/** Within this time the service has written what it keeps in memory under load. */
const WRITTEN_MS = 400;

/** Webhook in, frame out, 200, `pending`, the Mac's report, `delivered`, acknowledgement. The Macs report immediately. */
export const outbound: Work = {
  settleMs: WRITTEN_MS,
  prepare: (environment, locations, count) => prepareWebhooks(environment, locations, count),
  async perform(environment, candidate, run, count) {
    await beginOutbound(environment, candidate, run, count);
    const sent = await environment.load.call('closedLoop', candidate.url, CONCURRENCY);
    await endOutbound(environment, candidate, count, sent);
  },
};

/** The Mac's message, the CRM's conversation, acknowledgement. */
export const inbound: Work = {
  settleMs: WRITTEN_MS,
  prepare: (environment) => Promise.resolve(environment.nextRun()),
  async perform(environment, candidate, run, count) {
    await environment.crm.call('begin', { run, outbound: 0, inbound: count });
    await environment.macs.call('receive', candidate.name, run, count, { concurrency: CONCURRENCY });
    await arrivalsOf(environment, candidate, ['inbound'], count);
  },
};

/** Webhooks that are rejected with the given status. */
const rejected = (kind: Kind, status: number, settleMs: number, locations?: readonly string[]): Work => ({
  settleMs,
  prepare: (environment, served, count) => prepareWebhooks(environment, locations ?? served, count, { kind }),
  async perform(environment, candidate, _run, count) {
    const sent = await environment.load.call('closedLoop', candidate.url, CONCURRENCY);
    expectStatus(candidate, sent, status, count);
  },
});

export const unsigned = rejected('unsigned', 401, 0);
export const forged = rejected('forged', 401, 0);
const ABSENT = locationNames(100).map((name) => name.replace('bench', 'absent'));
export const notConnected = rejected('signed', 404, 200, ABSENT);

export async function prepareWebhooks(
  environment: BenchEnvironment,
  locations: readonly string[],
  count: number,
  { kind = 'signed', key = environment.key }: { kind?: Kind; key?: BenchEnvironment['key'] } = {},
): Promise<number> {
  const run = environment.nextRun();
  await environment.load.call('prepare', { run, count, locations, kind, key });
  return run;
}

export async function beginOutbound(
  environment: BenchEnvironment,
  candidate: RunningCandidate,
  run: number,
  count: number,
  { reportAfterMs = 0, ...more }: { inbound?: number; latencyMs?: number; reportAfterMs?: number } = {},
): Promise<void> {
  await environment.crm.call('begin', { run, outbound: count, inbound: 0, ...more });
  await environment.macs.call('expectStatuses', candidate.name, count, reportAfterMs);
}

/** Waits for the last acknowledgement and verifies the statuses that the CRM received for every message. */
export async function endOutbound(
  environment: BenchEnvironment,
  candidate: RunningCandidate,
  count: number,
  sent: LoadResult,
): Promise<Arrivals> {
  expectStatus(candidate, sent, 200, count);
  await environment.macs.call('statusesDone', candidate.name);
  return arrivalsOf(environment, candidate, ['pending', 'delivered'], count);
}

/** Returns the arrivals at the CRM, after verifying that it got each of these calls once per message. */
export async function arrivalsOf(
  environment: BenchEnvironment,
  { name }: RunningCandidate,
  calls: readonly ('pending' | 'delivered' | 'inbound')[],
  count: number,
): Promise<Arrivals> {
  const arrivals = await environment.crm.call('arrivals');
  if (arrivals.wrong.length > 0)
    throw new Error(`${name} made wrong calls to the CRM: ${arrivals.wrong.join('; ')}.`);
  for (const call of calls) {
    const arrived = arrivals[call].filter((at) => at > 0).length;
    if (arrived !== count) throw new Error(`${name} sent "${call}" to the CRM for ${arrived} of ${count}.`);
  }
  return arrivals;
}

function expectStatus(
  { name }: RunningCandidate,
  { statuses }: LoadResult,
  status: number,
  count: number,
): void {
  if (statuses[status] !== count)
    throw new Error(`${name}: ${count} responses with ${status} expected, not ${JSON.stringify(statuses)}.`);
}
