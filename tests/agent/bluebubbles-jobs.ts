import { writeFooter } from '@footbridge/protocol/footer';
import type { SendFrame } from '@footbridge/protocol/frames';
import type { Metadata } from '@footbridge/protocol/metadata';
import type { BlueBubblesFault } from '@footbridge/testkit/bluebubbles';
import type { SimulatedMacos } from '@footbridge/testkit/macos';

import { chatIdOf } from '@footbridge/agent/ports/messages/chat-ids';

export interface RunSize {
  readonly jobs: number;
  readonly faults: number;
  readonly kills: number;
}

/** What goes wrong during a job. */
export interface JobFault {
  readonly name: string;
  readonly fault: BlueBubblesFault;
  /** Two helpers are connected. */
  readonly doubled?: true;
}

export interface PlannedJob {
  readonly index: number;
  readonly kind: JobKind;
  /** The text or the name of the file, by which its commands and rows are found. For a reaction, the GUID of its target. */
  readonly token: string;
  readonly frame: Partial<SendFrame>;
  /** The people who must get it, and no others. */
  readonly members: readonly string[];
  readonly fault: JobFault | undefined;
  /** Milliseconds after which the agent is killed. */
  readonly killAfterMs: number | undefined;
}

export const JOB_KINDS = [
  'text',
  'stranger',
  'group',
  'new_group',
  'file',
  'effect',
  'reply',
  'reaction',
  'sms',
] as const;
export type JobKind = (typeof JOB_KINDS)[number];

const PEOPLE = Array.from({ length: 12 }, (_, index) => `+155501010${String(index).padStart(2, '0')}`);
const GROUP = PEOPLE.slice(0, 3);
/** These numbers are not on iMessage. */
export const SMS_PEOPLE: readonly string[] = ['+15550102000', '+15550102001'];
const MAX_KILL_MS = 300;

const refuse = (error: string): BlueBubblesFault => ({ reply: { refuse: error } });
type BrokenReply = Extract<NonNullable<BlueBubblesFault['reply']>, { send: string }>['send'];
const respond = (send: BrokenReply): BlueBubblesFault => ({ reply: { send } });

/** Faults that can happen with and without the message being sent. */
const UNCLEAR: Readonly<Record<string, BlueBubblesFault>> = {
  'transaction timeout': { silent: true },
  'data null': respond('data_null'),
  'gateway timeout': respond('gateway_timeout'),
  'connection cut': respond('nothing'),
  html: respond('html'),
  'half JSON': respond('half_json'),
  '10 MB': respond('huge'),
  exception: respond('unhandled'),
  'error in a 200': respond('error_in_200'),
  'empty 200': respond('empty'),
  'empty object': respond('empty_object'),
  'array as data': respond('data_array'),
  '400': respond('invalid'),
  '404': respond('not_found'),
  '429': respond('rate_limited'),
  redirect: respond('redirect'),
  'connection reset': respond('reset'),
  'Messages killed': { messagesDownMs: 20_000 },
  'server restarted': { serverDownMs: 20_000 },
};

const FAULTS: readonly JobFault[] = [
  ...Object.entries(UNCLEAR).flatMap(([name, fault]) => [
    { name: `${name}, sent`, fault },
    { name: `${name}, not sent`, fault: { ...fault, effect: false } },
  ]),
  { name: 'row after the server gave up', fault: { rowMs: 90_000 } },
  { name: 'no row', fault: { effect: false } },
  { name: 'row 40 s after the response', fault: { early: true, rowMs: 40_000 } },
  { name: 'no row after the response', fault: { early: true, effect: false } },
  { name: 'decomposed Unicode in the row', fault: { textForm: 'decomposed' } },
  { name: 'marks of direction in the row', fault: { textForm: 'marked' } },
  { name: 'GUID of an older message', fault: { guid: 'stale' } },
  { name: 'GUID of another chat', fault: { guid: 'foreign' } },
  { name: 'stall of 60 s', fault: { stallMs: 60_000 } },
  { name: 'stall of 124 s', fault: { stallMs: 124_000 } },
  { name: 'error 4 of the row', fault: { error: 4 } },
  { name: 'late error 25 of the row', fault: { error: 25, sentMs: 20_000 } },
  { name: 'two helpers', fault: {}, doubled: true },
  { name: 'refused: not connected', fault: refuse('iMessage Private API Helper is not connected!') },
  { name: 'refused: no chat', fault: refuse('Chat does not exist!') },
  { name: 'refused: not taken', fault: refuse('Failed to send message!') },
  { name: 'refused: new error, not sent', fault: refuse('An error that no version had before') },
  {
    name: 'refused: new error, sent',
    fault: { effect: true, ...refuse('An error that no version had before') },
  },
];

export interface PlanDeps {
  readonly macos: SimulatedMacos;
  readonly random: () => number;
  /** Serves a file at every path. */
  readonly filesUrl: string;
}

/** Writes what the jobs refer to into the message store, and returns the jobs. The same seed gives the same jobs. */
export async function planJobs(size: RunSize, deps: PlanDeps): Promise<PlannedJob[]> {
  const { macos, random } = deps;
  const write = contentWriter(deps);
  const faulty = sample(size.jobs, size.faults, random);
  const killed = sample(size.jobs, size.kills, random);
  const jobs: PlannedJob[] = [];
  for (let index = 0; index < size.jobs; index += 1) {
    const kind = random() < 0.4 ? 'text' : pick(JOB_KINDS, random);
    const { frame, ...content } = await write(kind, index);
    jobs.push({
      index,
      kind,
      ...content,
      frame: { ...frame, messageId: `job-${index}` },
      fault: faulty.has(index) ? pick(FAULTS, random) : undefined,
      killAfterMs: killed.has(index) ? random() * MAX_KILL_MS : undefined,
    });
  }
  await macos.messages.settled();
  return jobs;
}

type Content = Pick<PlannedJob, 'token' | 'frame' | 'members'>;

/** Returns a function that makes the content of a job, and writes the messages that it refers to. */
function contentWriter({
  macos,
  random,
  filesUrl,
}: PlanDeps): (kind: JobKind, index: number) => Promise<Content> {
  const received = async (from: string, text: string): Promise<{ guid: string; chatId: number }> => {
    const { guid, chatRowid } = await macos.messages.write({ from, text });
    return { guid, chatId: chatIdOf(1, chatRowid) };
  };
  return async (kind, index) => {
    const person = pick(kind === 'sms' ? SMS_PEOPLE : PEOPLE, random);
    const stranger = `+1555020${String(index).padStart(4, '0')}`;
    const token = kind === 'file' ? `job-${index}.txt` : `job ${index} ${Math.floor(random() * 1e9)}`;
    const toPerson = (footer: Metadata): Content => ({
      token,
      members: [person],
      frame: { phone: person, message: writeFooter(token, footer) },
    });
    const toGroup = (members: readonly string[]): Content => ({
      token,
      members,
      frame: { phone: person, message: writeFooter(token, { is_group: true, recipients: [...members] }) },
    });
    const plain = (phone: string): Content => ({ token, members: [phone], frame: { phone, message: token } });
    const contents: Record<JobKind, () => Content | Promise<Content>> = {
      text: () => plain(person),
      sms: () => plain(person),
      stranger: () => plain(stranger),
      group: () => toGroup(GROUP),
      new_group: () => toGroup([person, stranger]),
      effect: () => toPerson({ animation: { effect: 'slam', kind: 'bubble' } }),
      file: async () => {
        // A file cannot start a conversation.
        await received(person, 'Send it');
        const attachments = [`${filesUrl}/${token}`];
        return { token, members: [person], frame: { phone: person, message: '', attachments } };
      },
      reply: async () => {
        const { guid } = await received(person, `Question ${index}`);
        return toPerson({ reply_to: { message_guid: guid } });
      },
      reaction: async () => {
        const { guid, chatId } = await received(person, `React to ${index}`);
        const reaction = { target_message_guid: guid, kind: 'classic', action: 'add', type: 'love' } as const;
        const message = writeFooter('', { chat_id: chatId, reaction });
        return { token: guid, members: [person], frame: { phone: person, message } };
      },
    };
    return contents[kind]();
  };
}

function pick<T>(list: readonly T[], random: () => number): T {
  return list[Math.floor(random() * list.length)] as T;
}

/** Returns `count` different numbers below `total`. */
function sample(total: number, count: number, random: () => number): ReadonlySet<number> {
  const chosen = new Set<number>();
  while (chosen.size < Math.min(count, total)) chosen.add(Math.floor(random() * total));
  return chosen;
}
