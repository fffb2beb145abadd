import type { Crm } from '@footbridge/testkit/crm';

import type { Attempt, Sent } from '../send-until-taken.ts';
import type { Binding, Heard } from '../reconnecting-mac.ts';

/** What the CRM knows. */
export type CrmLedger = Pick<Crm, 'accepted'> & {
  readonly messages: readonly Pick<Crm['messages'][number], 'message' | 'locationId' | 'at'>[];
  statusesOf(
    messageId: string,
  ): readonly Pick<Crm['statuses'][number], 'status' | 'accepted' | 'error' | 'at'>[];
};

/** What a scripted Mac knows. */
export interface MacLedger {
  readonly device: string;
  readonly locationId: string;
  readonly bindings: readonly Binding[];
  readonly heard: readonly Heard[];
  /** The texts of each chat, in order. */
  readonly said: ReadonlyMap<string, readonly string[]>;
}

/** What the simulated Messages of the real agent program knows. */
export interface AgentLedger {
  readonly locationId: string;
  readonly said: ReadonlyMap<string, readonly string[]>;
  readonly bindings: readonly Binding[];
  /** The requests in its journal. */
  readonly received: ReadonlySet<string>;
  /** The ids of messages whose sends were interrupted, so that their outcome is unknown. */
  readonly interrupted: ReadonlySet<string>;
  /** The texts that were sent to people. */
  readonly sentTexts: readonly string[];
}

export interface Ledgers {
  readonly crm: CrmLedger;
  readonly macs: readonly MacLedger[];
  readonly agents: readonly AgentLedger[];
  readonly sent: readonly Sent[];
  /** Monotonic: the times of the evidence count from here. */
  readonly startedAt: number;
}

/** Counts of what must not happen. */
export interface Violations {
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
  /** Messages with a status after `delivered`, or with more terminal statuses than the CRM made attempts. */
  terminals: number;
}

export interface Score {
  readonly inbound: number;
  readonly outbound: number;
  /** Taken at the first attempt. */
  readonly atOnce: number;
  readonly displaced: number;
  /** `pending` or `delivered` told once more for the same frame, because a node died before it had noted the first time. */
  readonly toldAgain: number;
  /** Failed because the agent was interrupted while it sent, and told so: it never sends such a message again by itself (M4). */
  readonly unknownOutcomes: number;
  /**
   * Answered 200 and forgotten: the Mac had not confirmed the frame when another device took over, or when the node was killed within a
   * second or before any other node could be reached (M10).
   */
  readonly forgotten: number;
  readonly violations: Readonly<Violations>;
  /** What is known of each violation. */
  readonly evidence: readonly string[];
  readonly codes: Readonly<Record<string, number>>;
}

export const FLAWLESS: Readonly<Violations> = {
  lost: 0,
  doubled: 0,
  order: 0,
  owners: 0,
  false200: 0,
  false404: 0,
  statuses: 0,
  terminals: 0,
};

/** Compares the ledgers of the Macs with those of the CRM. */
export function judge({ crm, macs, agents, sent, startedAt }: Ledgers): Score {
  const findings = new Findings(startedAt, (message) => historyOf(message, crm, startedAt));
  const bindings = Map.groupBy(
    macs.flatMap((mac) => mac.bindings.map((binding) => ({ binding, locationId: mac.locationId }))),
    ({ locationId }) => locationId,
  );
  const of = (locationId: string) => (bindings.get(locationId) ?? []).map(({ binding }) => binding);
  const heard = Map.groupBy(
    macs.flatMap((mac) => mac.heard),
    ({ messageId }) => messageId,
  );
  const byLocation = new Map(
    agents.map((agent) => [
      agent.locationId,
      { ...agent, texts: Map.groupBy(agent.sentTexts, (text) => text) },
    ]),
  );
  judgeChats(crm, [...macs, ...agents], findings);
  judgeOwners(crm, macs, findings);
  let [toldAgain, unknownOutcomes, forgotten] = [0, 0, 0];
  const codes: Record<string, number> = {};
  for (const message of sent) {
    for (const { status } of message.attempts) codes[status] = (codes[status] ?? 0) + 1;
    const told = crm.accepted(message.messageId);
    const changes = told.filter((status, index) => status !== told[index - 1]);
    judgeTaken(message, findings);
    const agent = byLocation.get(message.locationId);
    if (agent !== undefined) {
      const times = agent.texts.get(message.text)?.length ?? 0;
      // After a rejected request the CRM may show `failed` already, with the error of that request: nothing follows it (A5).
      const isUnknown =
        hasUnknownOutcome(crm, message.messageId) ||
        (agent.interrupted.has(message.messageId) && told.at(-1) === 'failed');
      if (isUnknown) unknownOutcomes++;
      if (times === 0 && isForgottenByAgent(message, agent)) {
        forgotten++;
        continue;
      }
      if (!isUnknown || times > 1) judgeSentByAgent(message, times, findings);
      if (!isUnknown) judgeStatuses(message, changes, findings);
      continue;
    }
    const frames = heard.get(message.messageId) ?? [];
    for (const status of ['pending', 'delivered'])
      toldAgain += Math.max(0, told.filter((one) => one === status).length - frames.length);
    forgotten += judgeFrames(message, frames, of(message.locationId), findings);
    if (frames.length > 0) judgeStatuses(message, changes, findings);
  }
  return {
    inbound: [...macs, ...agents].flatMap(({ said }) => [...said.values()].flat()).length,
    outbound: sent.length,
    atOnce: sent.filter(({ attempts }) => attempts[0]?.status === 200).length,
    displaced: [...bindings.keys()].reduce((sum, locationId) => sum + changesOf(of(locationId)), 0),
    toldAgain,
    unknownOutcomes,
    forgotten,
    violations: findings.counts,
    evidence: findings.evidence,
    codes,
  };
}

/** How long a node may take to copy an unconfirmed frame to the others: 200 ms, and more on a machine that is busy. */
const COPIED_MS = 1000;
/** How long a frame may be on its way to a scripted Mac: a slow link adds 700 ms. */
const ON_THE_WAY_MS = 1000;
/** How long an agent may leave a frame unconfirmed: while it is frozen or its journal cannot be written. */
const UNCONFIRMED_MS = 6000;

class Findings {
  readonly counts: Violations = { ...FLAWLESS };
  readonly evidence: string[] = [];
  readonly #startedAt: number;
  readonly #describe: (message: Sent) => string;

  constructor(startedAt: number, describe: (message: Sent) => string) {
    this.#startedAt = startedAt;
    this.#describe = describe;
  }

  noteMessage(violation: keyof Violations, message: Sent, detail = ''): void {
    this.note(violation, `${this.#describe(message)} ${detail}`.trim());
  }

  noteFrames(message: Sent, frames: readonly Heard[]): void {
    const known = frames.map(
      ({ requestId, again, at, binding }) =>
        `${requestId}${again ? ' again' : ''} at ${Math.round(at - this.#startedAt)} on ${binding.device}, node ${binding.node}`,
    );
    this.noteMessage('doubled', message, `${frames.length} frames: ${known.join('; ')}`);
  }

  note(violation: keyof Violations, known: string): void {
    this.counts[violation]++;
    this.evidence.push(`${violation}: ${known}`);
  }
}

function judgeChats(crm: CrmLedger, macs: readonly Pick<MacLedger, 'said'>[], findings: Findings): void {
  const arrived = Map.groupBy(crm.messages, ({ message }) => message.slice(0, message.lastIndexOf(' ')));
  for (const mac of macs)
    for (const [chat, texts] of mac.said) {
      const there = (arrived.get(chat) ?? []).map(({ message }) => message);
      const once = new Set(there);
      for (const text of texts) if (!once.has(text)) findings.note('lost', text);
      for (const text of there) if (!once.delete(text)) findings.note('doubled', text);
      const firsts = [...new Set(there)];
      const expected = texts.filter((text) => firsts.includes(text));
      const wrong = firsts.findIndex((text, index) => text !== expected[index]);
      if (wrong >= 0) findings.note('order', `${firsts[wrong]} came before ${expected[wrong]}`);
    }
}

function judgeOwners(crm: CrmLedger, macs: readonly MacLedger[], findings: Findings): void {
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
        findings.note('owners', `${message} came after the first word of ${newest.device}`);
      else newest = last;
    }
  }
}

function judgeTaken(message: Sent, findings: Findings): void {
  if (message.attempts.at(-1)?.status !== 200) findings.noteMessage('lost', message, 'never taken');
}

/** Returns how many frames were forgotten. */
function judgeFrames(
  message: Sent,
  frames: readonly Heard[],
  bindings: readonly Binding[],
  findings: Findings,
): number {
  const { attempts } = message;
  let forgotten = 0;
  for (const attempt of attempts) {
    const { status, requestId } = attempt;
    const arrived = frames.filter((frame) => frame.requestId === requestId);
    if (arrived.some((frame) => isForFormerOwner(frame, attempt, bindings)))
      findings.noteMessage('owners', message, `${requestId} went to a former owner`);
    if (status === 404 && arrived.length > 0)
      findings.noteMessage('false404', message, `${requestId} reached the Mac`);
    if (status !== 200 || arrived.length > 0) continue;
    if (isForgotten(attempt, bindings, ON_THE_WAY_MS)) forgotten++;
    else findings.noteMessage('false200', message, `${requestId} never reached the Mac`);
  }
  const doubts = attempts.filter(({ status }) => status !== 200 && status !== 404).length;
  const isRepeated = new Set(frames.map(({ requestId }) => requestId)).size < frames.length;
  if (isRepeated || frames.length > 1 + doubts) findings.noteFrames(message, frames);
  return forgotten;
}

/** The agent's journal recognises repeated requests, so a person gets each message once, however often it was on the socket. */
function judgeSentByAgent(message: Sent, times: number, findings: Findings): void {
  if (times === 0) findings.noteMessage('lost', message, 'never sent by the agent');
  if (times > 1) findings.noteMessage('doubled', message, `sent ${times} times by the agent`);
}

function judgeStatuses(message: Sent, changes: readonly string[], findings: Findings): void {
  if (!isWellTold(changes, message.attempts)) findings.noteMessage('statuses', message);
  const terminals = changes.filter((status) => status !== 'pending').length;
  const isLeft = changes.slice(0, -1).includes('delivered');
  if (isLeft || terminals > message.attempts.length) findings.noteMessage('terminals', message);
}

/** Returns what both sides know of a message: answers and statuses with their times in milliseconds. */
function historyOf({ messageId, attempts }: Sent, crm: CrmLedger, startedAt: number): string {
  const since = (at: number) => Math.round(at - startedAt);
  const answers = attempts.map(
    ({ status, answeredAt, requestId }) => `${status} at ${since(answeredAt)} (${requestId})`,
  );
  const statuses = crm
    .statusesOf(messageId)
    .map(({ status, accepted, error, at }) =>
      [
        status,
        accepted ? '' : 'refused',
        error === undefined ? '' : JSON.stringify(error),
        'at',
        since(at - performance.timeOrigin),
      ]
        .filter((part) => part !== '')
        .join(' '),
    );
  return `${messageId} answered ${answers.join(', ')}; told ${statuses.join(', ') || 'nothing'};`;
}

const hasUnknownOutcome = (crm: CrmLedger, messageId: string) =>
  crm
    .statusesOf(messageId)
    .some(
      ({ status, error }) => status === 'failed' && JSON.stringify(error ?? '').includes('outcome unknown'),
    );

/** The newer one had not even asked when the older one was bound already. */
const isCertainlyOlder = (one: Binding, other: Binding) =>
  one.device !== other.device && one.boundAt < other.askedAt;

/** The request began when a newer owner was bound already. */
const isForFormerOwner = ({ binding }: Heard, { askedAt }: Attempt, all: readonly Binding[]) =>
  all.some((other) => other.boundAt < askedAt && binding.boundAt < other.askedAt);

/** Answered 200 and never saved by the agent, which cannot get it any more. */
export const isForgottenByAgent = (
  { attempts }: Sent,
  { bindings, received }: Pick<AgentLedger, 'bindings' | 'received'>,
): boolean =>
  attempts.some(
    (attempt) =>
      attempt.status === 200 &&
      !received.has(attempt.requestId) &&
      isForgotten(attempt, bindings, UNCONFIRMED_MS),
  );

/**
 * No connection of the Mac lasted long enough to confirm the frame, and it cannot be sent again: the node that had it was killed before it
 * had copied it to the others or while none of them could be reached, or another device took the location over (M10).
 */
function isForgotten({ answeredAt }: Attempt, all: readonly Binding[], unconfirmedMs: number): boolean {
  const inTime = all.toSorted((one, other) => one.boundAt - other.boundAt);
  const first = inTime.findLastIndex(({ boundAt }) => boundAt < answeredAt);
  if (first < 0) return false;
  for (const [index, { device, boundAt, droppedAt, nodeKilledAt, aloneSince }] of inTime.entries()) {
    if (index < first) continue;
    const next = inTime[index + 1];
    const since = Math.max(answeredAt, boundAt);
    if (Math.min(droppedAt, nodeKilledAt) >= since + unconfirmedMs) return false;
    if (next !== undefined && next.device !== device) return true;
    if (Math.min(nodeKilledAt, aloneSince) < since + COPIED_MS) return true;
  }
  return false;
}

function isWellTold(statuses: readonly string[], attempts: readonly Attempt[]): boolean {
  const told = statuses.join(' ');
  return attempts.length === 1 ? /^(pending )?delivered$/.test(told) : /(^| )delivered$/.test(told);
}

function changesOf(bindings: readonly Binding[]): number {
  const inTime = bindings.toSorted((a, b) => a.boundAt - b.boundAt);
  return inTime.filter(({ device }, index) => index > 0 && inTime[index - 1]?.device !== device).length;
}
