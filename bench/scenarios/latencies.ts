import type { Arena, Lane } from '../arena.ts';
import { quantile, tail } from '../measure/statistics.ts';
import type { Tail } from '../measure/statistics.ts';
import { beginOutbound, endOutbound, inboundArrivals, prepareWebhooks } from './work.ts';

export type Moment = 'webhook' | 'delivered' | 'inbound';

/** Milliseconds: webhook sent → answered; webhook sent → `delivered` at the CRM; Mac sent → message at the CRM. */
export type Latencies = Readonly<Record<string, Partial<Record<Moment, Tail>>>>;

export interface Rates {
  readonly outbound: number;
  readonly inbound: number;
  readonly seconds: number;
  /** Each contestant is measured so often, in turns; the median of its percentiles counts. */
  readonly repeats: number;
  readonly crmLatencyMs?: number;
  /** How long a Mac takes to send a text; part of `delivered`. */
  readonly reportAfterMs?: number;
}

export async function measureLatencies(
  arena: Arena,
  lanes: readonly Lane[],
  ratesOf: (lane: Lane) => Rates,
): Promise<Latencies> {
  const seen = new Map<string, Record<Moment, Tail[]>>();
  const repeats = Math.max(...lanes.map((lane) => ratesOf(lane).repeats));
  for (let repeat = 0; repeat < repeats; repeat++) {
    for (const lane of lanes) {
      const tails = seen.get(lane.name) ?? { webhook: [], delivered: [], inbound: [] };
      seen.set(lane.name, tails);
      const measured = await once(arena, lane, ratesOf(lane));
      for (const moment of ['webhook', 'delivered', 'inbound'] as const) {
        const one = measured[moment];
        if (one !== undefined) tails[moment].push(one);
      }
    }
  }
  return Object.fromEntries(
    [...seen].map(([name, tails]) => [
      name,
      Object.fromEntries(
        Object.entries(tails)
          .filter(([, all]) => all.length > 0)
          .map(([moment, all]) => [moment, middle(all)]),
      ),
    ]),
  );
}

async function once({ world }: Arena, lane: Lane, rates: Rates): Promise<Partial<Record<Moment, Tail>>> {
  const outgoing = Math.round(rates.outbound * rates.seconds);
  const incoming = Math.round(rates.inbound * rates.seconds);
  const run = await prepareWebhooks(world, lane.locations, outgoing);
  await beginOutbound(world, lane, run, outgoing, {
    inbound: incoming,
    latencyMs: rates.crmLatencyMs ?? 0,
    reportAfterMs: rates.reportAfterMs ?? 0,
  });
  const [fired, received] = await Promise.all([
    world.load.call('fixedRate', lane.url, rates.outbound),
    incoming > 0 ? world.macs.call('receive', lane.name, run, incoming, { rate: rates.inbound }) : undefined,
  ]);
  const { delivered } = await endOutbound(world, lane, outgoing, fired);
  return {
    webhook: tail(fired.tookMs),
    delivered: tail(between(fired.sentAt, delivered)),
    ...(received && {
      inbound: tail(between(received.sentAt, await inboundArrivals(world, lane, incoming))),
    }),
  };
}

function between(from: Float64Array, to: Float64Array): Float64Array {
  return to.map((at, index) => at - (from[index] ?? Number.NaN));
}

function middle(all: readonly Tail[]): Tail {
  const median = (pick: (one: Tail) => number) => quantile(all.map(pick), 0.5);
  return {
    p50: median((one) => one.p50),
    p99: median((one) => one.p99),
    max: median((one) => one.max),
    samples: all.reduce((sum, one) => sum + one.samples, 0),
  };
}
