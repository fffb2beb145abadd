import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { writeFooter } from '@footbridge/protocol/footer';
import type { MessageStatusFrame, SendFrame } from '@footbridge/protocol/frames';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import type { SentContent } from '@footbridge/testkit/macos/apple-events';
import type { MacosVersion } from '@footbridge/simulator/chat-db';
import { seeded } from '@footbridge/testkit/seeded';
import { until } from '@footbridge/testkit/until';

import { describeRequest } from './describe-request.ts';
import { always, serveFiles } from '@footbridge/testkit/file-server';
import { MacAgent } from './mac-agent.ts';
import { ScriptedService } from './scripted-service.ts';
import { SEND_FAULTS } from './send-faults.ts';
import type { SendFault } from './send-faults.ts';

export interface SendRunOptions {
  readonly jobs: number;
  readonly faults: number;
  readonly kills: number;
  readonly seed: number;
  /** How much faster the clock of the agent runs: the row of a text may take 30 s. */
  readonly speed: number;
  readonly macos: MacosVersion;
}

export interface SendReport {
  readonly jobs: number;
  /** Jobs of which a person got more than one copy. */
  readonly doubled: string[];
  /** Messages that went to another person or chat. */
  readonly misdirected: string[];
  /** Jobs with another status than their fault must have, or a status that does not agree with what the person got. */
  readonly wrong: string[];
  /** Where a text, a number, a name or a file name appeared. */
  readonly leaks: string[];
  /** Jobs during whose send the agent was killed, and those of which the outcome was found in the store. */
  readonly interrupted: number;
  readonly resolved: number;
  /** Requests that the agent had not confirmed when it was killed. They were sent again. */
  readonly resent: number;
  /** Milliseconds from the request to the status, for texts without a fault. */
  readonly durations: number[];
}

const CANARIES = ['canary', 'Kanarie', '5550777'];
const PEOPLE = Array.from({ length: 30 }, (_, index) => `+15550777${String(index).padStart(3, '0')}`);
/** These people are not on iMessage. */
const SMS_ONLY = PEOPLE.slice(27);
const GROUPS = Array.from({ length: 5 }, (_, index) => PEOPLE.slice(index * 3, index * 3 + 3));

/** Most kills interrupt a send. */
const KILLED_AFTER = ['nothing', 'request', 'request', 'program', 'program', 'program', 'program'] as const;

interface Kill {
  readonly ms: number;
  /** `nothing`: the agent has not read the request. */
  readonly after: (typeof KILLED_AFTER)[number];
}

interface Job {
  readonly name: string;
  readonly frame: Partial<SendFrame>;
  /** The text or the file name by which its sends are recognised. */
  readonly content: string;
  readonly members: readonly string[];
  readonly fault: SendFault | undefined;
  /** When the agent is killed: before it reads the request, or so many milliseconds after the request or the start of its program. */
  readonly kill: Kill | undefined;
}

/**
 * Sends jobs one after another through the agent, which runs as a process and is killed, while faults happen to its programs and to
 * Messages. Returns how what people got differs from what was reported.
 */
export async function runSends(options: SendRunOptions): Promise<SendReport> {
  const cleanup = createCleanup();
  try {
    const service = await new ScriptedService().start();
    cleanup.add(() => service.stop());
    const macos = await startSimulatedMacos({ macos: options.macos });
    cleanup.add(() => macos.stop());
    const agent = new MacAgent({
      url: service.url,
      macos,
      speed: options.speed,
      env: {
        FOOTBRIDGE_HEARTBEAT_SEC: '3600',
        FOOTBRIDGE_LOG_LEVEL: 'debug',
      },
    });
    cleanup.add(() => agent.stop());
    const files = await serveFiles(cleanup, always(Buffer.from('content'), 'text/plain'));
    return await new SendRun(options, service, macos, agent, files.url).run();
  } finally {
    await cleanup.run();
  }
}

class SendRun {
  readonly #options: SendRunOptions;
  readonly #service: ScriptedService;
  readonly #macos: SimulatedMacos;
  readonly #agent: MacAgent;
  readonly #filesUrl: string;
  readonly #random: () => number;
  readonly #chatIds = new Map<string, number>();
  readonly #report: SendReport;
  #interrupted = 0;
  #resolved = 0;
  #resent = 0;

  constructor(
    options: SendRunOptions,
    service: ScriptedService,
    macos: SimulatedMacos,
    agent: MacAgent,
    filesUrl: string,
  ) {
    this.#options = options;
    this.#service = service;
    this.#macos = macos;
    this.#agent = agent;
    this.#filesUrl = filesUrl;
    this.#random = seeded(options.seed);
    this.#report = {
      jobs: options.jobs,
      doubled: [],
      misdirected: [],
      wrong: [],
      leaks: [],
      interrupted: 0,
      resolved: 0,
      resent: 0,
      durations: [],
    };
  }

  async run(): Promise<SendReport> {
    await this.#prepare();
    for (const job of this.#plan()) await this.#perform(job);
    await this.#findLeaks();
    return {
      ...this.#report,
      interrupted: this.#interrupted,
      resolved: this.#resolved,
      resent: this.#resent,
    };
  }

  /** The groups exist, and the CRM knows the chat ids of those who wrote. */
  async #prepare(): Promise<void> {
    const { messages } = this.#macos;
    await this.#start();
    for (const members of [...GROUPS, ...PEOPLE.slice(0, 10).map((one) => [one])])
      await messages.write({
        from: members[0] ?? '',
        chat: { members, service: 'iMessage' },
        text: 'Hello from Kanarie',
      });
    await messages.alter({ sql: `UPDATE chat SET display_name = 'Kanarie group' WHERE style = 43` });
    await until(() => this.#service.received.length === GROUPS.length + 10, { what: 'the first messages' });
    for (const { chat } of this.#service.received) this.#chatIds.set(keyOf(chat.recipients), chat.id);
    await this.#reset();
  }

  /** Makes all jobs, and distributes faults and kills over them. */
  #plan(): Job[] {
    const { jobs, faults, kills } = this.#options;
    const order = Array.from({ length: jobs }, (_, index) => index).sort(() => this.#random() - 0.5);
    const withFault = new Set(order.slice(0, faults));
    const withKill = new Set(order.slice(faults, faults + kills));
    return Array.from({ length: jobs }, (_, index) =>
      this.#job(index, withFault.has(index), withKill.has(index)),
    );
  }

  #job(index: number, hasFault: boolean, hasKill: boolean): Job {
    const fault = hasFault ? this.#pickFault() : undefined;
    const kill: Kill | undefined = hasKill
      ? { ms: this.#random() * 50, after: this.#pick(KILLED_AFTER) }
      : undefined;
    const name = `job ${index}${fault === undefined ? '' : ` (${fault.name})`}${hasKill ? ' (killed)' : ''}`;
    const content = `canary ${index} for Kanarie “${Math.floor(this.#random() * 1e9)}”`;
    const one = this.#pick(PEOPLE.slice(0, 27));
    const base = { name, content, fault, kill };
    const kind = this.#random();
    if (fault !== undefined || kind < 0.6)
      return { ...base, members: [one], frame: { phone: one, message: content } };
    if (kind < 0.7) {
      const known = this.#pick(PEOPLE.slice(0, 10));
      const message = writeFooter(content, { chat_id: this.#chatIds.get(known) ?? 0 });
      return { ...base, members: [known], frame: { phone: known, message } };
    }
    if (kind < 0.8) {
      const sms = this.#pick(SMS_ONLY);
      return { ...base, members: [sms], frame: { phone: sms, message: content } };
    }
    if (kind < 0.9) {
      const members = this.#pick(GROUPS);
      const message = writeFooter(content, { is_group: true, recipients: members });
      return { ...base, members, frame: { phone: members[0] ?? '', message } };
    }
    const file = `canary-${index}.txt`;
    const attachments = [`${this.#filesUrl}/${file}`];
    return { ...base, content: file, members: [one], frame: { phone: one, message: null, attachments } };
  }

  async #perform(job: Job): Promise<void> {
    const { messages } = this.#macos;
    if (job.fault !== undefined) await this.#cause(job.fault, job);
    const before = { sent: (await messages.sent()).length, calls: (await messages.calls()).length };
    if (job.kill?.after === 'nothing') this.#agent.pause();
    const started = performance.now();
    const frame = this.#service.send({ ...job.frame, messageId: job.name });
    const status = await this.#follow(job, frame, before.calls);
    if (job.fault === undefined && job.kill === undefined && job.frame.attachments === undefined)
      this.#report.durations.push(performance.now() - started);
    await this.#judge(job, frame, status, (await messages.sent()).slice(before.sent));
    if (job.fault !== undefined) await this.#reset();
  }

  /** Kills the agent, if that is planned, and returns the status. */
  async #follow({ name, kill }: Job, frame: SendFrame, callsBefore: number): Promise<MessageStatusFrame> {
    try {
      const isInterrupted = kill !== undefined && (await this.#kill(kill, frame, callsBefore));
      const status = await this.#service.statusOf(frame.requestId);
      if (isInterrupted) {
        this.#interrupted += 1;
        if (!isUnknown(status)) this.#resolved += 1;
      }
      return status;
    } catch (error) {
      const planned = kill === undefined ? '' : `, killed after ${kill.after}, ${Math.round(kill.ms)} ms`;
      throw new Error(`${name}${planned}: ${String(error)}\n${this.#describe(frame)}`, { cause: error });
    }
  }

  #describe({ requestId }: SendFrame): string {
    const found = describeRequest(requestId, { service: this.#service, agent: this.#agent });
    return `${found}\nstandard error of osascript:\n${this.#macos.osascriptErrors}`;
  }

  /** Returns whether the agent was killed while it sent. */
  async #kill({ ms, after }: Kill, frame: SendFrame, callsBefore: number): Promise<boolean> {
    const service = this.#service;
    const hasBegun = async (): Promise<boolean> => (await this.#macos.messages.calls()).length > callsBefore;
    if (after === 'program') await until(hasBegun, { every: 2, what: 'a program of macOS' });
    if (after !== 'nothing') await sleep(ms);
    await this.#agent.kill9();
    const isReported = service.statuses.some((status) => status.requestId === frame.requestId);
    const isSending = await hasBegun();
    await this.#start();
    if (service.resendUnconfirmed(frame)) this.#resent += 1;
    return isSending && !isReported;
  }

  async #start(): Promise<void> {
    const before = this.#service.registrations.length;
    await this.#agent.start();
    await this.#service.registered(before + 1);
  }

  async #cause(fault: SendFault, job: Job): Promise<void> {
    const { messages } = this.#macos;
    if (fault.osascript !== undefined) await messages.breakOsascript({ faults: [fault.osascript] });
    await messages.configure({
      ...(fault.events !== undefined && { faults: fault.events }),
      ...(fault.sends !== undefined && { sends: fault.sends }),
      ...(fault.accounts !== undefined && { accounts: fault.accounts }),
      ...(fault.running !== undefined && { running: fault.running }),
    });
    if (fault.phone === true)
      await messages.write({
        from: 'me',
        chat: { members: job.members, service: 'iMessage' },
        text: job.content,
        delays: { join: 50, body: 50, sent: 50 },
      });
  }

  async #reset(): Promise<void> {
    await this.#macos.messages.configure({
      faults: [],
      sends: {},
      accounts: ['iMessage', 'SMS'].map((service) => ({ service, enabled: true, connection: 'connected' })),
      notOnIMessage: SMS_ONLY,
      running: true,
    });
    await this.#macos.messages.settled();
  }

  /** Compares what was reported with what Messages was asked to send. */
  async #judge(
    job: Job,
    frame: SendFrame,
    status: MessageStatusFrame,
    sent: readonly SentContent[],
  ): Promise<void> {
    const { doubled, misdirected, wrong } = this.#report;
    const own = sent.filter(({ text, file }) => (text ?? file?.name) === job.content);
    const isGhost = job.fault?.sends?.row === 'ghost';
    const copies = isGhost ? 0 : own.filter(({ error }) => error === undefined).length;
    const outcome = status.error?.code ?? status.status;
    const described = `${job.name}: ${outcome}, ${copies} copies, ${status.error?.message ?? ''}`;
    if (copies > 1) doubled.push(described);
    for (const { to } of sent) {
      const members = 'handle' in to ? [to.handle] : await this.#membersOf(to.chatId);
      if (own.length !== sent.length || keyOf(members) !== keyOf(job.members)) misdirected.push(described);
    }
    const expected = job.fault?.expected ?? (job.kill === undefined ? 'delivered' : undefined);
    const agrees = isUnknown(status) || (status.status === 'delivered' ? 1 : 0) === copies;
    if (!agrees || (expected !== undefined && outcome !== expected))
      wrong.push(`${described}\n${this.#describe(frame)}`);
  }

  async #membersOf(chatId: string): Promise<readonly string[]> {
    const chats = await this.#macos.messages.chats();
    return 'value' in chats ? (chats.value.find(({ id }) => id === chatId)?.handles ?? []) : [];
  }

  async #findLeaks(): Promise<void> {
    const childProcesses = this.#agent.childProcesses();
    if (!childProcesses.includes('"-l"')) this.#report.leaks.push('child processes were not recorded');
    const places = {
      'process arguments': childProcesses,
      'arguments of programs of macOS': JSON.stringify(await this.#macos.messages.calls()),
      'record of the last send': readFileSync(
        join(this.#macos.home, 'Library/Caches/Footbridge/last-send.jsonl'),
        'utf8',
      ),
      log: JSON.stringify(this.#agent.logs),
      state: JSON.stringify(this.#service.states),
      'error texts': JSON.stringify(this.#service.statuses.map(({ error }) => error)),
    };
    for (const [place, content] of Object.entries(places))
      for (const canary of CANARIES)
        if (content.includes(canary)) this.#report.leaks.push(`${canary} in ${place}`);
  }

  #pick<T>(items: readonly [T, ...T[]] | readonly T[]): T {
    return items[Math.floor(this.#random() * items.length)] as T;
  }

  #pickFault(): SendFault | undefined {
    const total = SEND_FAULTS.reduce((sum, { weight }) => sum + weight, 0);
    let left = this.#random() * total;
    return SEND_FAULTS.find(({ weight }) => (left -= weight) < 0);
  }
}

const keyOf = (members: readonly string[]): string => [...members].sort().join(' ');

const isUnknown = (status: MessageStatusFrame): boolean =>
  status.error?.message.includes('outcome unknown') === true;
