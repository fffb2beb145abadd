import type { MessageReceivedFrame } from '@footbridge/protocol/frames';

/** A message that the CRM must get. */
export interface ExpectedMessage {
  readonly guid: string;
  /** Names its chat: messages of one chat arrive in order. */
  readonly chat: string;
  /** The other members of the chat. */
  readonly members: readonly string[];
  readonly sender: string;
  readonly text: string;
  readonly files: number;
}

/** When parts of a message were in the store, by the wall clock. */
export interface StoredTimes {
  /** The whole message. */
  readonly at: number;
  /** Its chat. */
  readonly joinedAt: number;
}

/** A time in which the agent did not run or the store did not have its messages, by the wall clock. */
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
  /**
   * How long the agent had the message and did not deliver it: from the moment when nothing had to be waited for, without outages.
   * A message waits for all before it in its chat, and for the chat of earlier messages that may belong to its own.
   */
  readonly latency: Distribution;
  /** From the moment when the message was complete, with outages and with what it had to wait for. */
  readonly elapsed: Distribution;
}

/** In milliseconds. */
export interface Distribution {
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

export interface InboundResult {
  readonly expected: readonly ExpectedMessage[];
  readonly stored: ReadonlyMap<string, StoredTimes>;
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
    ...timesOf(result, arrived),
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

function timesOf(
  { expected, stored, outages }: InboundResult,
  arrived: ReadonlyMap<string, Arrival>,
): Pick<InboundReport, 'latency' | 'elapsed'> {
  /** By chat, and by sender: until its chat is known, a message may belong to every chat of its sender. */
  const readyAt = new Map<string, number>();
  const joinedAt = new Map<string, number>();
  const times = expected.map(({ guid, chat, members, sender }) => {
    const { at, joinedAt: joined } = stored.get(guid) ?? { at: 0, joinedAt: 0 };
    const others = members.map((member) => joinedAt.get(member) ?? 0);
    const ready = Math.max(at, readyAt.get(chat) ?? 0, ...others);
    readyAt.set(chat, ready);
    joinedAt.set(sender, Math.max(joined, joinedAt.get(sender) ?? 0));
    const end = arrived.get(guid)?.at ?? Infinity;
    return { elapsed: end - at, latency: end - ready - outageBetween(ready, end, outages) };
  });
  return {
    latency: distributionOf(times.map(({ latency }) => latency)),
    elapsed: distributionOf(times.map(({ elapsed }) => elapsed)),
  };
}

function distributionOf(times: readonly number[]): Distribution {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number): number => Math.max(0, sorted[Math.floor((sorted.length - 1) * share)] ?? 0);
  return { p50: at(0.5), p95: at(0.95), max: at(1) };
}

/** Returns for how long there was an outage between two times. Outages can overlap. */
function outageBetween(start: number, end: number, outages: readonly Outage[]): number {
  let counted = start;
  let total = 0;
  for (const { from, to } of outages.toSorted((one, other) => one.from - other.from)) {
    const first = Math.max(from, counted);
    const last = Math.min(to, end);
    if (last <= first) continue;
    total += last - first;
    counted = last;
  }
  return total;
}
