import type { MessageTrail, StepName } from '../../relay/journal/journal.ts';

/** The hops of a message, each measured between two of its steps. */
const HOPS = ['accept', 'pending', 'mac', 'outcome', 'inbound'] as const;
export type HopName = (typeof HOPS)[number];

export interface Hop {
  readonly name: HopName;
  readonly messages: number;
  /** 95 of 100 messages took at most this long. */
  readonly p95Ms: number;
}

type Steps = MessageTrail['steps'];

/** Returns how long each hop took for these messages, the slowest first. Leaves out hops that no message has completed. */
export function slowestHops(messages: readonly Pick<MessageTrail, 'direction' | 'steps'>[]): Hop[] {
  return HOPS.flatMap((name) => {
    const times = messages.flatMap((message) => DURATION[name](message) ?? []).toSorted((a, b) => a - b);
    const p95Ms = times[Math.ceil(times.length * 0.95) - 1];
    return p95Ms === undefined ? [] : [{ name, messages: times.length, p95Ms }];
  }).toSorted((one, other) => other.p95Ms - one.p95Ms);
}

const DURATION: Record<HopName, (message: Pick<MessageTrail, 'direction' | 'steps'>) => number | undefined> =
  {
    accept: ({ steps }) => between(first(steps, 'accepted'), first(steps, 'written')),
    pending: ({ steps }) => between(first(steps, 'written'), told(steps, 'pending')),
    mac: ({ steps }) => between(first(steps, 'written'), first(steps, 'mac_reported')),
    outcome: ({ steps }) =>
      between(first(steps, 'mac_reported'), told(steps, 'delivered') ?? told(steps, 'failed')),
    inbound: ({ steps }) => between(first(steps, 'received'), first(steps, 'crm_accepted')),
  };

const first = (steps: Steps, name: StepName) => steps.find(({ step }) => step === name)?.at;

const told = (steps: Steps, status: string) =>
  steps.find(({ step, detail }) => step === 'status_sent' && detail?.['status'] === status)?.at;

/** Undefined when one of the steps is missing, or the clock was set back in between. */
const between = (from: number | undefined, to: number | undefined): number | undefined =>
  from === undefined || to === undefined || to < from ? undefined : to - from;
