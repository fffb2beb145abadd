import type { Crm } from '@footbridge/testkit/crm';

import type { Attempt, Sent } from './patient-crm.ts';
import type { Binding, Heard, StubbornMac } from './stubborn-mac.ts';

/** What must not be. */
export interface Faults {
  /** Of what the Macs had, not in the CRM at the end; of what the CRM had, not taken in the end. */
  lost: number;
  /** In the CRM twice, or on a socket more often than the CRM was left in doubt. */
  doubled: number;
  /** Chats whose messages arrived in another order. */
  order: number;
  /** Heard by the CRM from a former owner after the newer one, or told to a former owner although the newer one was there before. */
  owners: number;
  /** Answered 200 without a frame on the Mac's socket, but for Macs that hung up by themselves at that moment. */
  false200: number;
  /** Answered 404 although the Mac got it. */
  false404: number;
  /** Messages whose last status is not `delivered`, or, when they were sent once, whose statuses are anything but `pending` and `delivered`. */
  statuses: number;
}

export interface Score {
  readonly inbound: number;
  readonly outbound: number;
  /** Taken at the first attempt. */
  readonly atOnce: number;
  readonly displaced: number;
  /** `pending` or `delivered` told once more for the same frame, because a node died before it had noted the first time. */
  readonly toldAgain: number;
  readonly faults: Readonly<Faults>;
  /** What is known of each fault. */
  readonly evidence: readonly string[];
  readonly codes: Readonly<Record<string, number>>;
}

export const FLAWLESS: Readonly<Faults> = {
  lost: 0,
  doubled: 0,
  order: 0,
  owners: 0,
  false200: 0,
  false404: 0,
  statuses: 0,
};

/** The ledgers of the Macs against those of the CRM. */
export function judge(crm: Crm, macs: readonly StubbornMac[], sent: readonly Sent[]): Score {
  const docket = new Docket();
  const bindings = Map.groupBy(
    macs.flatMap((mac) => mac.bindings.map((binding) => ({ binding, locationId: mac.locationId }))),
    ({ locationId }) => locationId,
  );
  const of = (locationId: string) => (bindings.get(locationId) ?? []).map(({ binding }) => binding);
  const heard = Map.groupBy(
    macs.flatMap((mac) => mac.heard),
    ({ messageId }) => messageId,
  );
  judgeChats(crm, macs, docket);
  judgeOwners(crm, macs, docket);
  let toldAgain = 0;
  const codes: Record<string, number> = {};
  for (const message of sent) {
    for (const { status } of message.attempts) codes[status] = (codes[status] ?? 0) + 1;
    const told = crm.accepted(message.messageId);
    const frames = heard.get(message.messageId) ?? [];
    for (const status of ['pending', 'delivered'])
      toldAgain += Math.max(0, told.filter((one) => one === status).length - frames.length);
    const news = told.filter((status, index) => status !== told[index - 1]);
    judgeSent(message, frames, of(message.locationId), news, docket);
  }
  return {
    inbound: macs.flatMap(({ said }) => [...said.values()].flat()).length,
    outbound: sent.length,
    atOnce: sent.filter(({ attempts }) => attempts[0]?.status === 200).length,
    displaced: [...bindings.keys()].reduce((sum, locationId) => sum + changesOf(of(locationId)), 0),
    toldAgain,
    faults: docket.counts,
    evidence: docket.evidence,
    codes,
  };
}

class Docket {
  readonly counts: Faults = { ...FLAWLESS };
  readonly evidence: string[] = [];

  note(fault: keyof Faults, known: string): void {
    this.counts[fault]++;
    this.evidence.push(`${fault}: ${known}`);
  }
}

function judgeChats(crm: Crm, macs: readonly StubbornMac[], docket: Docket): void {
  const arrived = Map.groupBy(crm.messages, ({ message }) => message.slice(0, message.lastIndexOf(' ')));
  for (const mac of macs)
    for (const [chat, texts] of mac.said) {
      const there = (arrived.get(chat) ?? []).map(({ message }) => message);
      const once = new Set(there);
      for (const text of texts) if (!once.has(text)) docket.note('lost', text);
      for (const text of there) if (!once.delete(text)) docket.note('doubled', text);
      const firsts = [...new Set(there)];
      const expected = texts.filter((text) => firsts.includes(text));
      const wrong = firsts.findIndex((text, index) => text !== expected[index]);
      if (wrong >= 0) docket.note('order', `${firsts[wrong]} came before ${expected[wrong]}`);
    }
}

function judgeOwners(crm: Crm, macs: readonly StubbornMac[], docket: Docket): void {
  for (const [locationId, messages] of Map.groupBy(crm.messages, (message) => message.locationId)) {
    const here = macs.filter((mac) => mac.locationId === locationId);
    let newest: Binding | undefined;
    for (const { message, at } of messages) {
      const mac = here.find(({ device }) => message.startsWith(device));
      // The CRM's ledger has the wall clock, in whole milliseconds; ours is monotonic.
      const time = at - performance.timeOrigin + 1;
      const last = mac?.bindings.findLast(({ askedAt }) => askedAt <= time);
      if (last === undefined) continue;
      if (newest !== undefined && isCertainlyOlder(last, newest))
        docket.note('owners', `${message} came after the first word of ${newest.device}`);
      else newest = last;
    }
  }
}

function judgeSent(
  { messageId, attempts }: Sent,
  frames: readonly Heard[],
  bindings: readonly Binding[],
  told: readonly string[],
  docket: Docket,
): void {
  for (const attempt of attempts) {
    const { status, requestId } = attempt;
    const arrived = frames.filter((frame) => frame.requestId === requestId);
    const about = `${messageId} ${JSON.stringify(attempt)}`;
    if (arrived.some((frame) => isForFormerOwner(frame, attempt, bindings))) docket.note('owners', about);
    if (status === 404 && arrived.length > 0) docket.note('false404', about);
    if (status === 200 && arrived.length === 0 && !isExcused(attempt, bindings))
      docket.note('false200', about);
  }
  if (attempts.at(-1)?.status !== 200) docket.note('lost', `${messageId} ${JSON.stringify(attempts)}`);
  const doubts = attempts.filter(({ status }) => status !== 200 && status !== 404).length;
  const isRepeated = new Set(frames.map(({ requestId }) => requestId)).size < frames.length;
  if (isRepeated || frames.length > 1 + doubts) docket.note('doubled', messageId);
  if (frames.length > 0 && !isWellTold(told, attempts))
    docket.note('statuses', `${messageId} ${told.join(' ')} ${JSON.stringify(attempts)}`);
}

/** The newer one had not even asked when the older one was bound already. */
const isCertainlyOlder = (one: Binding, other: Binding) =>
  one.device !== other.device && one.boundAt < other.askedAt;

/** The request began when a newer owner was bound already. */
const isForFormerOwner = ({ binding }: Heard, { askedAt }: Attempt, all: readonly Binding[]) =>
  all.some((other) => other.boundAt < askedAt && binding.boundAt < other.askedAt);

/** The Mac hung up itself: what was on its socket at that moment is lost, and the service cannot know. */
function isExcused({ answeredAt }: Attempt, all: readonly Binding[]): boolean {
  const newest = all
    .filter(({ boundAt }) => boundAt < answeredAt)
    .reduce<Binding | undefined>((last, one) => (last && last.boundAt > one.boundAt ? last : one), undefined);
  return newest !== undefined && newest.droppedAt < answeredAt + 100;
}

function isWellTold(statuses: readonly string[], attempts: readonly Attempt[]): boolean {
  const told = statuses.join(' ');
  return attempts.length === 1 ? /^(pending )?delivered$/.test(told) : /(^| )delivered$/.test(told);
}

function changesOf(bindings: readonly Binding[]): number {
  const inTime = bindings.toSorted((a, b) => a.boundAt - b.boundAt);
  return inTime.filter(({ device }, index) => index > 0 && inTime[index - 1]?.device !== device).length;
}
