import type { Harness, RunningCandidate } from '../harness.ts';
import { quantile, tail } from '../measure/statistics.ts';
import type { Tail } from '../measure/statistics.ts';
import { arrivalsOf, beginOutbound, endOutbound, prepareWebhooks } from './work.ts';

export const MOMENTS = ['webhook', 'delivered', 'inbound'] as const;
type Tails = Partial<Record<(typeof MOMENTS)[number], Tail>>;

/** Milliseconds from the webhook to its response, from the webhook to `delivered` at the CRM, and from the Mac to the CRM. */
export type Latencies = Readonly<Record<string, Tails>>;

interface Rates {
  readonly outbound: number;
  readonly inbound: number;
  readonly seconds: number;
  /** The number of measurements per candidate. The result is the median of their percentiles. */
  readonly repeats: number;
  readonly crmLatencyMs?: number;
  /** The simulated time that a Mac takes to send a text. It is included in `delivered`. */
  readonly reportAfterMs?: number;
}

export async function measureLatencies(
  harness: Harness,
  candidates: readonly RunningCandidate[],
  ratesOf: (candidate: RunningCandidate) => Rates,
): Promise<Latencies> {
  const measured = candidates.map((candidate) => ({
    candidate,
    rates: ratesOf(candidate),
    all: [] as Tails[],
  }));
  const repeats = Math.max(...measured.map(({ rates }) => rates.repeats));
  for (let repeat = 0; repeat < repeats; repeat++)
    for (const { candidate, rates, all } of measured) all.push(await measureOnce(harness, candidate, rates));
  return Object.fromEntries(measured.map(({ candidate, all }) => [candidate.name, medianTails(all)]));
}

async function measureOnce(
  { environment }: Harness,
  candidate: RunningCandidate,
  { outbound, inbound, seconds, crmLatencyMs = 0, reportAfterMs = 0 }: Rates,
): Promise<Tails> {
  const outgoing = Math.round(outbound * seconds);
  const incoming = Math.round(inbound * seconds);
  const run = await prepareWebhooks(environment, candidate.locations, outgoing);
  const conditions = { inbound: incoming, latencyMs: crmLatencyMs, reportAfterMs };
  await beginOutbound(environment, candidate, run, outgoing, conditions);
  const [sent, receivedAt] = await Promise.all([
    environment.load.call('fixedRate', candidate.url, outbound),
    incoming > 0
      ? environment.macs.call('receive', candidate.name, run, incoming, { rate: inbound })
      : undefined,
  ]);
  const { delivered } = await endOutbound(environment, candidate, outgoing, sent);
  const arrived = receivedAt && (await arrivalsOf(environment, candidate, ['inbound'], incoming)).inbound;
  return {
    webhook: tail(sent.latencyMs),
    delivered: tail(between(sent.sentAt, delivered)),
    ...(arrived && { inbound: tail(between(receivedAt, arrived)) }),
  };
}

const between = (from: Float64Array, to: Float64Array): Float64Array =>
  to.map((at, index) => at - (from[index] ?? Number.NaN));

function medianTails(all: readonly Tails[]): Tails {
  const medians = MOMENTS.flatMap((moment) => {
    const tails = all.flatMap((one) => one[moment] ?? []);
    const median = (select: (one: Tail) => number) => quantile(tails.map(select), 0.5);
    const samples = tails.reduce((sum, one) => sum + one.samples, 0);
    if (samples === 0) return [];
    const { p50, p99, max } = {
      p50: median((one) => one.p50),
      p99: median((one) => one.p99),
      max: median((one) => one.max),
    };
    return [[moment, { p50, p99, max, samples }]];
  });
  return Object.fromEntries(medians);
}
