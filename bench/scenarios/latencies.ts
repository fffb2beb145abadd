import type { Harness, RunningCandidate } from '../harness.ts';
import { quantile, tail } from '../measure/statistics.ts';
import type { Tail } from '../measure/statistics.ts';
import { beginOutbound, endOutbound, inboundArrivals, prepareWebhooks } from './work.ts';

export type Moment = 'webhook' | 'delivered' | 'inbound';

/** Milliseconds from the webhook to its response, from the webhook to `delivered` at the CRM, and from the Mac to the CRM. */
export type Latencies = Readonly<Record<string, Partial<Record<Moment, Tail>>>>;

export interface Rates {
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
  const tailsByName = new Map<string, Record<Moment, Tail[]>>();
  const repeats = Math.max(...candidates.map((candidate) => ratesOf(candidate).repeats));
  for (let repeat = 0; repeat < repeats; repeat++) {
    for (const candidate of candidates) {
      const tails = tailsByName.get(candidate.name) ?? { webhook: [], delivered: [], inbound: [] };
      tailsByName.set(candidate.name, tails);
      const measured = await measureOnce(harness, candidate, ratesOf(candidate));
      for (const moment of ['webhook', 'delivered', 'inbound'] as const) {
        const measuredTail = measured[moment];
        if (measuredTail !== undefined) tails[moment].push(measuredTail);
      }
    }
  }
  return Object.fromEntries(
    [...tailsByName].map(([name, tails]) => [
      name,
      Object.fromEntries(
        Object.entries(tails)
          .filter(([, all]) => all.length > 0)
          .map(([moment, all]) => [moment, medianTail(all)]),
      ),
    ]),
  );
}

async function measureOnce(
  { environment }: Harness,
  candidate: RunningCandidate,
  rates: Rates,
): Promise<Partial<Record<Moment, Tail>>> {
  const outgoing = Math.round(rates.outbound * rates.seconds);
  const incoming = Math.round(rates.inbound * rates.seconds);
  const run = await prepareWebhooks(environment, candidate.locations, outgoing);
  await beginOutbound(environment, candidate, run, outgoing, {
    inbound: incoming,
    latencyMs: rates.crmLatencyMs ?? 0,
    reportAfterMs: rates.reportAfterMs ?? 0,
  });
  const [sent, received] = await Promise.all([
    environment.load.call('fixedRate', candidate.url, rates.outbound),
    incoming > 0
      ? environment.macs.call('receive', candidate.name, run, incoming, { rate: rates.inbound })
      : undefined,
  ]);
  const { delivered } = await endOutbound(environment, candidate, outgoing, sent);
  return {
    webhook: tail(sent.latencyMs),
    delivered: tail(between(sent.sentAt, delivered)),
    ...(received && {
      inbound: tail(between(received.sentAt, await inboundArrivals(environment, candidate, incoming))),
    }),
  };
}

function between(from: Float64Array, to: Float64Array): Float64Array {
  return to.map((at, index) => at - (from[index] ?? Number.NaN));
}

function medianTail(all: readonly Tail[]): Tail {
  const median = (select: (entry: Tail) => number) => quantile(all.map(select), 0.5);
  return {
    p50: median(({ p50 }) => p50),
    p99: median(({ p99 }) => p99),
    max: median(({ max }) => max),
    samples: all.reduce((sum, { samples }) => sum + samples, 0),
  };
}
