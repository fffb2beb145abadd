import type { Lane } from '../arena.ts';
import type { Fired } from '../world/load.ts';
import type { Kind } from '../world/webhook-requests.ts';
import { locationNames } from '../world/world.ts';
import type { World } from '../world/world.ts';

/** One piece of work for a contestant: `prepare` once, then `perform` on each lane with the same bytes. */
export interface Work {
  /** What was put off meanwhile (a journal written behind, a log flushed) belongs to the messages that caused it. */
  readonly settleMs: number;
  prepare(world: World, locations: readonly string[], count: number): Promise<number>;
  /** Resolves when all of it is done to the end, and throws when any of it was not done right. */
  perform(world: World, lane: Lane, run: number, count: number): Promise<void>;
}

export const CONCURRENCY = 32;

/** Webhook in, frame out, 200, `pending`, the Mac's report, `delivered`, acknowledgement. */
export function outboundReported(reportAfterMs: number): Work {
  return {
    settleMs: 200,
    prepare: (world, locations, count) => prepareWebhooks(world, locations, count, 'signed'),
    async perform(world, lane, run, count) {
      await beginOutbound(world, lane, run, count, { reportAfterMs });
      const fired = await world.load.call('closedLoop', lane.url, CONCURRENCY);
      await endOutbound(world, lane, count, fired);
    },
  };
}

/** The Macs report at once: nothing of the service's work is hidden behind their slowness. */
export const outbound = outboundReported(0);

/** The Mac's message, the CRM's conversation, acknowledgement. */
export const inbound: Work = {
  settleMs: 200,
  prepare: (world) => Promise.resolve(world.nextRun()),
  async perform(world, lane, run, count) {
    await world.crm.call('begin', { run, outbound: 0, inbound: count });
    await world.macs.call('receive', lane.name, run, count, { concurrency: CONCURRENCY });
    await inboundArrivals(world, lane, count);
  },
};

/** A webhook that ends with an error and nothing else. */
export function refused(kind: Kind, status: number, settleMs: number, locations?: readonly string[]): Work {
  return {
    settleMs,
    prepare: (world, served, count) => prepareWebhooks(world, locations ?? served, count, kind),
    async perform(world, lane, _run, count) {
      const { statuses } = await world.load.call('closedLoop', lane.url, CONCURRENCY);
      expectStatus(lane, statuses, status, count);
    },
  };
}

export const unsigned = refused('unsigned', 401, 0);
export const forged = refused('forged', 401, 0);
export const nobodyThere = refused(
  'signed',
  404,
  200,
  locationNames(100).map((name) => name.replace('bench', 'absent')),
);

export async function prepareWebhooks(
  world: World,
  locations: readonly string[],
  count: number,
  kind: Kind = 'signed',
  privateKey = world.key.privateKey,
): Promise<number> {
  const run = world.nextRun();
  await world.load.call('prepare', { run, count, locations: [...locations], kind, privateKey });
  return run;
}

export async function beginOutbound(
  world: World,
  lane: Lane,
  run: number,
  count: number,
  { reportAfterMs = 0, ...more }: { inbound?: number; latencyMs?: number; reportAfterMs?: number } = {},
): Promise<void> {
  await world.crm.call('begin', { run, outbound: count, inbound: 0, ...more });
  await world.macs.call('expectStatuses', lane.name, count, reportAfterMs);
}

/** Waits for the last acknowledgement and makes sure that the CRM heard of every message exactly what it should. */
export async function endOutbound(
  world: World,
  lane: Lane,
  count: number,
  fired: Fired,
): Promise<{ delivered: Float64Array; inbound: Float64Array }> {
  expectStatus(lane, fired.statuses, 200, count);
  await world.macs.call('statusesDone', lane.name, 60_000);
  const arrivals = await world.crm.call('arrivals');
  complain(lane, arrivals.wrong);
  expectAll(lane, 'pending', arrivals.pending);
  expectAll(lane, 'delivered', arrivals.delivered);
  return arrivals;
}

export async function inboundArrivals(world: World, lane: Lane, count: number): Promise<Float64Array> {
  const arrivals = await world.crm.call('arrivals');
  complain(lane, arrivals.wrong);
  if (arrivals.inbound.length !== count) throw new Error('The CRM was told of another run.');
  expectAll(lane, 'inbound', arrivals.inbound);
  return arrivals.inbound;
}

function expectStatus(lane: Lane, statuses: Record<string, number>, status: number, count: number): void {
  if (statuses[status] !== count)
    throw new Error(`${lane.name} should have answered ${count} × ${status}: ${JSON.stringify(statuses)}.`);
}

function expectAll(lane: Lane, what: string, arrivals: Float64Array): void {
  const missing = arrivals.filter((at) => at === 0).length;
  if (missing > 0) throw new Error(`${lane.name} never told the CRM "${what}" for ${missing} messages.`);
}

function complain(lane: Lane, wrong: readonly string[]): void {
  if (wrong.length > 0) throw new Error(`${lane.name} made wrong calls to the CRM: ${wrong.join('; ')}.`);
}
