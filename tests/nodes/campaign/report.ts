import type { Sent } from '../send-until-taken.ts';
import { FLAWLESS } from './score.ts';
import type { Score, Violations } from './score.ts';
import type { ScheduledFault } from './schedule.ts';

/** What a campaign is made of. The schedule follows from it. */
export interface CampaignOptions {
  /** Each way. */
  readonly messages: number;
  readonly faults: number;
  readonly kills: number;
  readonly seed: number;
  readonly nodes: number;
  /** Locations with scripted Macs. */
  readonly locations: number;
  /** Locations with the real agent program. */
  readonly agents: number;
  /** Messages each way of one round; each round has its own servers. */
  readonly roundSize: number;
}

/** Times are milliseconds since the start of the round. */
export interface InjectedFault extends ScheduledFault {
  readonly from: number;
  readonly to: number;
}

/** What happened within one interval of the timeline. */
export interface TimelineBucket {
  readonly taken: number;
  readonly notConnected: number;
  readonly unavailable: number;
  /** Any other answer, or a connection that failed. */
  readonly failed: number;
  readonly inbound: number;
  readonly statuses: number;
}

export interface RoundReport extends Score {
  readonly round: number;
  readonly messages: number;
  readonly seed: number;
  readonly seconds: number;
  readonly schedule: readonly InjectedFault[];
  readonly bucketMs: number;
  readonly timeline: readonly TimelineBucket[];
  readonly bugs: readonly string[];
}

export interface CampaignReport {
  readonly options: CampaignOptions;
  readonly startedAt: string;
  readonly rounds: readonly RoundReport[];
}

export const hasFailed = ({ evidence, bugs }: Pick<RoundReport, 'evidence' | 'bugs'>): boolean =>
  evidence.length + bugs.length > 0;

/** Sums up what must be 0. */
export function totalsOf(rounds: readonly RoundReport[]): Violations & { bugs: number } {
  const totals = { ...FLAWLESS, bugs: 0 };
  for (const { violations, bugs } of rounds) {
    totals.lost += violations.lost;
    totals.doubled += violations.doubled;
    totals.order += violations.order;
    totals.owners += violations.owners;
    totals.false200 += violations.false200;
    totals.false404 += violations.false404;
    totals.statuses += violations.statuses;
    totals.terminals += violations.terminals;
    totals.bugs += bugs.length;
  }
  return totals;
}

/** Returns how often each name occurs, the most frequent first. */
export function countBy(names: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map([...counts].sort(([, a], [, b]) => b - a));
}

export interface Events {
  readonly sent: readonly Sent[];
  /** Wall-clock times at which the CRM stored messages and accepted statuses. */
  readonly inboundAt: readonly number[];
  readonly statusesAt: readonly number[];
}

/** Counts the events of each interval. `startedAt` is monotonic. */
export function timelineOf(
  { sent, inboundAt, statusesAt }: Events,
  startedAt: number,
  bucketMs: number,
): TimelineBucket[] {
  const buckets: { -readonly [name in keyof TimelineBucket]: number }[] = [];
  const count = (name: keyof TimelineBucket, at: number) => {
    const index = Math.max(0, Math.floor((at - startedAt) / bucketMs));
    while (buckets.length <= index)
      buckets.push({ taken: 0, notConnected: 0, unavailable: 0, failed: 0, inbound: 0, statuses: 0 });
    const bucket = buckets[index];
    if (bucket !== undefined) bucket[name]++;
  };
  for (const { attempts } of sent)
    for (const { status, answeredAt } of attempts) count(ANSWERS.get(status) ?? 'failed', answeredAt);
  for (const at of inboundAt) count('inbound', at - performance.timeOrigin);
  for (const at of statusesAt) count('statuses', at - performance.timeOrigin);
  return buckets;
}

const ANSWERS = new Map<number | string, keyof TimelineBucket>([
  [200, 'taken'],
  [404, 'notConnected'],
  [503, 'unavailable'],
]);
