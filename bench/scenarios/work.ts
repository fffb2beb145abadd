import type { RunningCandidate } from '../harness.ts';
import type { LoadResult } from '../environment/load.ts';
import type { Kind } from '../environment/webhook-requests.ts';
import { locationNames } from '../environment/environment.ts';
import type { BenchEnvironment } from '../environment/environment.ts';

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

/** Webhook in, frame out, 200, `pending`, the Mac's report, `delivered`, acknowledgement. */
export function outboundReported(reportAfterMs: number): Work {
  return {
    settleMs: WRITTEN_MS,
    prepare: (environment, locations, count) => prepareWebhooks(environment, locations, count, 'signed'),
    async perform(environment, candidate, run, count) {
      await beginOutbound(environment, candidate, run, count, { reportAfterMs });
      const sent = await environment.load.call('closedLoop', candidate.url, CONCURRENCY);
      await endOutbound(environment, candidate, count, sent);
    },
  };
}

/** The Macs report immediately, so that the measured time contains only the work of the service. */
export const outbound = outboundReported(0);

/** The Mac's message, the CRM's conversation, acknowledgement. */
export const inbound: Work = {
  settleMs: WRITTEN_MS,
  prepare: (environment) => Promise.resolve(environment.nextRun()),
  async perform(environment, candidate, run, count) {
    await environment.crm.call('begin', { run, outbound: 0, inbound: count });
    await environment.macs.call('receive', candidate.name, run, count, { concurrency: CONCURRENCY });
    await inboundArrivals(environment, candidate, count);
  },
};

/** Webhooks that are rejected with the given status. */
export function rejected(kind: Kind, status: number, settleMs: number, locations?: readonly string[]): Work {
  return {
    settleMs,
    prepare: (environment, served, count) => prepareWebhooks(environment, locations ?? served, count, kind),
    async perform(environment, candidate, _run, count) {
      const { statuses } = await environment.load.call('closedLoop', candidate.url, CONCURRENCY);
      expectStatus(candidate, statuses, status, count);
    },
  };
}

export const unsigned = rejected('unsigned', 401, 0);
export const forged = rejected('forged', 401, 0);
export const notConnected = rejected(
  'signed',
  404,
  200,
  locationNames(100).map((name) => name.replace('bench', 'absent')),
);

export async function prepareWebhooks(
  environment: BenchEnvironment,
  locations: readonly string[],
  count: number,
  kind: Kind = 'signed',
  privateKey = environment.key.privateKey,
): Promise<number> {
  const run = environment.nextRun();
  await environment.load.call('prepare', { run, count, locations: [...locations], kind, privateKey });
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
): Promise<{ delivered: Float64Array; inbound: Float64Array }> {
  expectStatus(candidate, sent.statuses, 200, count);
  await environment.macs.call('statusesDone', candidate.name, 60_000);
  const arrivals = await environment.crm.call('arrivals');
  expectNoWrongCalls(candidate, arrivals.wrong);
  expectAll(candidate, 'pending', arrivals.pending);
  expectAll(candidate, 'delivered', arrivals.delivered);
  return arrivals;
}

export async function inboundArrivals(
  environment: BenchEnvironment,
  candidate: RunningCandidate,
  count: number,
): Promise<Float64Array> {
  const arrivals = await environment.crm.call('arrivals');
  expectNoWrongCalls(candidate, arrivals.wrong);
  if (arrivals.inbound.length !== count) throw new Error('The CRM recorded another run.');
  expectAll(candidate, 'inbound', arrivals.inbound);
  return arrivals.inbound;
}

function expectStatus(
  candidate: RunningCandidate,
  statuses: Record<string, number>,
  status: number,
  count: number,
): void {
  if (statuses[status] !== count)
    throw new Error(
      `${candidate.name} should have responded ${count} times with ${status}, but: ${JSON.stringify(statuses)}.`,
    );
}

function expectAll(candidate: RunningCandidate, kind: string, arrivals: Float64Array): void {
  const missing = arrivals.filter((at) => at === 0).length;
  if (missing > 0)
    throw new Error(`${candidate.name} did not send "${kind}" to the CRM for ${missing} messages.`);
}

function expectNoWrongCalls(candidate: RunningCandidate, wrong: readonly string[]): void {
  if (wrong.length > 0)
    throw new Error(`${candidate.name} made wrong calls to the CRM: ${wrong.join('; ')}.`);
}
