import type { MessageReceivedFrame } from '@footbridge/protocol/frames';

/** A message that the CRM must get. */
export interface ExpectedMessage {
  readonly guid: string;
  /** Names its chat: messages of one chat arrive in order. */
  readonly chat: string;
  readonly text: string;
  readonly files: number;
}

/** A time in which the agent did not run, by the wall clock. */
export interface Outage {
  readonly from: number;
  readonly to: number;
}

export interface InboundReport {
  readonly rows: number;
  /** Guids of messages that did not arrive. */
  readonly lost: readonly string[];
  /** Guids that arrived under more than one `seq`: the service takes the second one for another message. */
  readonly doubled: readonly string[];
  readonly disordered: readonly string[];
  /** Guids whose text or files differ from what was written. */
  readonly altered: readonly string[];
  /** Texts that the CRM must not get: of the owner, of the history, of other rows. */
  readonly unexpected: readonly string[];
  /** From the moment when the message and all before it in its chat were complete and the agent ran, in milliseconds. */
  readonly latency: { readonly p50: number; readonly p95: number; readonly max: number };
}

export interface InboundResult {
  readonly expected: readonly ExpectedMessage[];
  readonly completedAt: ReadonlyMap<string, number>;
  readonly outages: readonly Outage[];
  readonly received: readonly MessageReceivedFrame[];
  readonly receivedAt: readonly number[];
}

export function compareInbound(result: InboundResult): InboundReport {
  const { expected, received } = result;
  const wanted = new Map(expected.map((message) => [message.guid, message]));
  const arrived = firstArrivals(result);
  return {
    rows: expected.length,
    lost: expected.filter(({ guid }) => !arrived.has(guid)).map(({ guid }) => guid),
    doubled: doubledGuids(received),
    disordered: overtakenMessages(expected, arrived),
    altered: received
      .filter(({ guid, text, attachments }) => {
        const message = wanted.get(guid);
        return message !== undefined && (message.text !== text || message.files !== attachments.length);
      })
      .map(({ guid }) => guid),
    unexpected: received
      .filter(({ guid, text }) => !wanted.has(guid) && text !== LAST_MESSAGE)
      .map(({ text }) => text),
    latency: latencyOf(result, arrived),
  };
}

/** The text of the messages that end a run. */
export const LAST_MESSAGE = 'The last message';

interface Arrival {
  readonly place: number;
  readonly at: number;
}

/** Frames are sent again after a reconnect: the first one counts. */
function firstArrivals({ received, receivedAt }: InboundResult): Map<string, Arrival> {
  const arrived = new Map<string, Arrival>();
  for (const [place, { guid }] of received.entries())
    if (!arrived.has(guid)) arrived.set(guid, { place, at: receivedAt[place] ?? 0 });
  return arrived;
}

function doubledGuids(received: readonly MessageReceivedFrame[]): string[] {
  const seqs = new Map<string, Set<number>>();
  for (const { guid, seq } of received) seqs.set(guid, (seqs.get(guid) ?? new Set()).add(seq));
  return [...seqs].filter(([, numbers]) => numbers.size > 1).map(([guid]) => guid);
}

function overtakenMessages(
  expected: readonly ExpectedMessage[],
  arrived: ReadonlyMap<string, Arrival>,
): string[] {
  const latest = new Map<string, { index: number; place: number }>();
  return expected.flatMap(({ guid, chat }, index) => {
    const place = arrived.get(guid)?.place;
    if (place === undefined) return [];
    const before = latest.get(chat);
    if (before === undefined || place > before.place) latest.set(chat, { index, place });
    return before !== undefined && place < before.place ? [`${index} before ${before.index} of ${chat}`] : [];
  });
}

function latencyOf(
  { expected, completedAt, outages }: InboundResult,
  arrived: ReadonlyMap<string, Arrival>,
): InboundReport['latency'] {
  const ready = new Map<string, number>();
  const times = expected
    .map(({ guid, chat }) => {
      const complete = Math.max(completedAt.get(guid) ?? 0, ready.get(chat) ?? 0);
      ready.set(chat, complete);
      return (arrived.get(guid)?.at ?? Infinity) - afterOutages(complete, outages);
    })
    .sort((one, other) => one - other);
  const at = (share: number): number => Math.max(0, times[Math.floor((times.length - 1) * share)] ?? 0);
  return { p50: at(0.5), p95: at(0.95), max: at(1) };
}

/** Returns the first time at or after `time` at which the agent ran. Outages are in order. */
function afterOutages(time: number, outages: readonly Outage[]): number {
  return outages.reduce((at, { from, to }) => (at >= from && at < to ? to : at), time);
}
