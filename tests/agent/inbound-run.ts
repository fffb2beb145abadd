import { setTimeout as sleep } from 'node:timers/promises';

import { startSimulatedMacos } from '@footbridge/testkit/macos';
import type { SimulatedMacos } from '@footbridge/testkit/macos';
import type { MacosVersion } from '@footbridge/simulator/chat-db';
import type { NewMessage } from '@footbridge/simulator/messages-app';
import { seeded } from '@footbridge/testkit/seeded';
import { until } from '@footbridge/testkit/until';

import { compareInbound, LAST_MESSAGE } from './inbound-report.ts';
import type { ExpectedMessage, InboundReport, Outage, StoredTimes } from './inbound-report.ts';
import { MacAgent } from './mac-agent.ts';
import { ScriptedService } from './scripted-service.ts';

export interface InboundRunOptions {
  /** The number of messages that the CRM must get. */
  readonly rows: number;
  readonly rotations: number;
  readonly rebuilds: number;
  readonly sleeps: number;
  readonly kills: number;
  /** Messages per second. */
  readonly rate: number;
  /** The longest delay of a body or a file. A join is three times as fast. */
  readonly maxDelayMs: number;
  readonly macos: MacosVersion;
  readonly seed: number;
}

const OWN = '+15550100000';
const PEOPLE = Array.from({ length: 40 }, (_, index) => `+1555020${String(index).padStart(4, '0')}`);
const GROUPS = Array.from({ length: 10 }, (_, index) => PEOPLE.slice(index * 3, index * 3 + 3));
/** These people get another group each time. */
const TWINS = PEOPLE.slice(30, 33);
const HISTORY = 200;
/** The messages that a rebuilt store has: more than are under way, and fewer than all. */
const RESYNCED = 600;

/**
 * Writes messages the way Messages does, while the agent runs as a process, is killed, sleeps, and has its store rotated and rebuilt.
 * Returns how what arrived at the service differs from what was written.
 */
export async function runInbound(options: InboundRunOptions): Promise<InboundReport> {
  const service = await new ScriptedService().start();
  const macos = await startSimulatedMacos({ macos: options.macos });
  const agent = new MacAgent({ url: service.url, macos, env: {} });
  try {
    return await new InboundRun(options, service, macos, agent).run();
  } finally {
    await agent.stop();
    await macos.stop();
    await service.stop();
  }
}

/** Writes one message. Returns the part that the CRM must get, or undefined if it must get nothing. */
type Kind = (text: string) => Promise<ExpectedMessage | undefined>;

class InboundRun {
  readonly #options: InboundRunOptions;
  readonly #service: ScriptedService;
  readonly #macos: SimulatedMacos;
  readonly #agent: MacAgent;
  readonly #random: () => number;
  readonly #expected: ExpectedMessage[] = [];
  readonly #stored = new Map<string, StoredTimes>();
  readonly #outages: Outage[] = [];
  /** Kills and sleeps, one after another. */
  #agentEvents: Promise<void> = Promise.resolve();

  constructor(options: InboundRunOptions, service: ScriptedService, macos: SimulatedMacos, agent: MacAgent) {
    this.#options = options;
    this.#service = service;
    this.#macos = macos;
    this.#agent = agent;
    this.#random = seeded(options.seed);
  }

  async run(): Promise<InboundReport> {
    const { rows, rate } = this.#options;
    await this.#prepare();
    const events = this.#plan();
    const kinds = this.#kinds();
    const started = Date.now();
    while (this.#expected.length < rows) {
      const index = this.#expected.length;
      const message = await this.#pick(kinds)(`Message ${index} https://example.com/${index}`);
      if (message !== undefined) this.#expected.push(message);
      for (const event of events.get(index) ?? []) await event();
      events.delete(index);
      const ahead = started + (index / rate) * 1000 - Date.now();
      if (ahead > 0) await sleep(ahead);
    }
    await this.#agentEvents;
    await this.#macos.messages.settled();
    await this.#finish();
    return compareInbound({
      expected: this.#expected,
      stored: this.#stored,
      outages: this.#outages,
      received: this.#service.received,
      receivedAt: this.#service.receivedAt,
    });
  }

  /** The store has a history, which must not arrive. */
  async #prepare(): Promise<void> {
    const { messages } = this.#macos;
    for (let index = 0; index < HISTORY; index += 1)
      await messages.write({
        from: PEOPLE[index % PEOPLE.length] ?? '',
        text: `History ${index}`,
        date: Date.now() - 3600_000,
      });
    await messages.settled();
    await messages.takeCompleted();
    await this.#start();
    // The read position is saved with the first state of the store.
    await until(() => this.#service.states.length > 0, { what: 'the first state' });
  }

  /** Distributes the events over the messages. */
  #plan(): Map<number, (() => Promise<void>)[]> {
    const { rows, rotations, rebuilds, sleeps, kills } = this.#options;
    const plan = new Map<number, (() => Promise<void>)[]>();
    const add = (count: number, event: () => Promise<void>): void => {
      for (let made = 0; made < count; made += 1) {
        const at = Math.floor(((made + this.#random()) / count) * rows);
        plan.set(at, [...(plan.get(at) ?? []), event]);
      }
    };
    const { messages } = this.#macos;
    add(rotations, () => (this.#random() < 0.5 ? messages.rotate() : messages.checkpoint()));
    add(rebuilds, () => this.#during(() => messages.resync({ newest: RESYNCED })));
    add(sleeps, () => this.#onAgent(() => this.#sleep()));
    add(kills, () => this.#onAgent(() => this.#kill()));
    return plan;
  }

  #kinds(): readonly [weight: number, Kind][] {
    return [
      [40, (text) => this.#write({ text }, this.#chat())],
      [4, (text) => this.#write({ text, bodyForm: 'text' }, this.#chat())],
      [10, (text) => this.#write({ text, delays: { join: this.#joinDelay() } }, this.#chat())],
      [10, (text) => this.#write({ text, delays: { body: this.#delay() } }, this.#chat())],
      [5, (text) => this.#write({ text, ...this.#file(), delays: this.#allDelays() }, this.#chat())],
      [10, (text) => this.#write({ text, ...this.#file(), delays: this.#fileDelays() }, this.#chat())],
      [2, () => this.#write({ ...this.#file(), delays: this.#fileDelays() }, this.#chat())],
      [
        6,
        (text) =>
          this.#write({ text, linkPreview: true, delays: { preview: this.#delay() / 2 } }, this.#chat()),
      ],
      [2, (text) => this.#write({ text, joins: 2 }, [this.#person()])],
      [
        2,
        (text) => this.#write({ text, chat: { members: TWINS, service: 'SMS', twin: true } }, TWINS, 'twin'),
      ],
      [4, () => this.#echo()],
      [4, () => this.#own()],
      [2, () => this.#ignored({ from: this.#person(), columns: { item_type: 1 } })],
      [1, () => this.#ghost()],
    ];
  }

  /** Writes a message of a member of the chat. `chat` names a chat that is new. */
  async #write(
    message: Partial<NewMessage>,
    members: readonly string[],
    chat?: string,
  ): Promise<ExpectedMessage> {
    const sender = this.#pickOf(members);
    const { guid } = await this.#macos.messages.write({
      from: sender,
      chat: { members, service: 'iMessage' },
      ...message,
    });
    return {
      guid,
      chat: chat === undefined ? members.join(' ') : `${chat} ${guid}`,
      members,
      sender,
      text: message.text ?? '',
      files: message.attachments?.length ?? 0,
    };
  }

  /** A message that this Mac sends to itself is stored twice. */
  async #echo(): Promise<undefined> {
    const chat = { members: [OWN], service: 'iMessage' };
    const columns = { destination_caller_id: OWN };
    await this.#macos.messages.write({ from: 'me', chat, text: 'To myself', columns });
    await this.#ignored({ from: OWN, chat, text: 'To myself', columns, delays: { join: this.#joinDelay() } });
  }

  /** The owner writes from the phone. */
  async #own(): Promise<undefined> {
    await this.#ignored({
      from: 'me',
      chat: { members: this.#chat(), service: 'iMessage' },
      text: 'From my phone',
      delays: { join: this.#joinDelay(), sent: 100, delivered: this.#delay() },
    });
  }

  async #ignored(message: NewMessage): Promise<undefined> {
    await this.#macos.messages.write(message);
    return undefined;
  }

  async #ghost(): Promise<undefined> {
    await this.#macos.messages.ghost({ chatIdentifier: 'chat123' });
    return undefined;
  }

  async #onAgent(event: () => Promise<void>): Promise<void> {
    this.#agentEvents = this.#agentEvents.then(event);
    return Promise.resolve();
  }

  async #kill(): Promise<void> {
    await this.#during(async () => {
      await this.#agent.kill9();
      await this.#start();
    });
  }

  async #sleep(): Promise<void> {
    await this.#during(async () => {
      this.#agent.pause();
      await sleep(200 + this.#random() * 1_800);
      this.#agent.moveClock();
      this.#agent.resume();
    });
  }

  /** Counts the time of an event as an outage. */
  async #during(event: () => Promise<void>): Promise<void> {
    const from = Date.now();
    await event();
    this.#outages.push({ from, to: Date.now() });
  }

  async #start(): Promise<void> {
    await this.#agent.start();
  }

  /** Waits for every message, and then for one that was written after all others could have come twice. */
  async #finish(): Promise<void> {
    for (const { guid, ...times } of await this.#macos.messages.takeCompleted())
      this.#stored.set(guid, times);
    const arrived = (): boolean => {
      const guids = new Set(this.#service.received.map((frame) => frame.guid));
      return this.#expected.every(({ guid }) => guids.has(guid));
    };
    // A message that is missing is a result, not an error.
    await until(arrived, { every: 200, within: 150_000 }).catch(() => undefined);
    for (const person of PEOPLE) await this.#macos.messages.write({ from: person, text: LAST_MESSAGE });
    const last = (): boolean =>
      this.#service.received.filter(({ text }) => text === LAST_MESSAGE).length >= PEOPLE.length;
    await until(last, { every: 200, what: 'the last messages' });
  }

  #chat(): readonly string[] {
    return this.#random() < 0.3 ? this.#pickOf(GROUPS) : [this.#person()];
  }

  #person(): string {
    return this.#pickOf(PEOPLE);
  }

  #file(): Pick<NewMessage, 'attachments'> {
    const count = this.#random() < 0.2 ? 2 : 1;
    const path = this.#random() < 0.8 ? 'tilde' : 'absolute';
    return {
      attachments: Array.from({ length: count }, (_, index) => ({
        name: `photo ${index}.jpg`,
        mime: 'image/jpeg',
        base64: Buffer.from(`photo ${index}`).toString('base64'),
        path,
      })),
    };
  }

  #fileDelays(): NonNullable<NewMessage['delays']> {
    return { attachments: this.#delay() / 2, file: this.#delay(), transfer: this.#delay() / 2 };
  }

  #allDelays(): NonNullable<NewMessage['delays']> {
    return { ...this.#fileDelays(), join: this.#joinDelay(), body: this.#delay() };
  }

  /** Until a row has a chat, it holds back all chats of its sender. */
  #joinDelay(): number {
    return this.#delay() / 3;
  }

  /** Most delays are short. */
  #delay(): number {
    return this.#random() ** 3 * this.#options.maxDelayMs;
  }

  #pick(kinds: readonly [number, Kind][]): Kind {
    const total = kinds.reduce((sum, [weight]) => sum + weight, 0);
    let place = this.#random() * total;
    for (const [weight, kind] of kinds) {
      if (place < weight) return kind;
      place -= weight;
    }
    throw new Error('no kind of message');
  }

  #pickOf<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.#random() * items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }
}
