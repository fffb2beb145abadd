// Messages both ways while nodes, Redis and sockets break: node scripts/run.mjs tests/nodes/campaign.ts --messages 5000 --faults 150 [--seed 1]
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import type { Mac } from '@footbridge/testkit/mac';
import { undoList } from '@footbridge/testkit/undo';

import { openHouse } from './house.ts';
import type { House } from './house.ts';

export interface CampaignOptions {
  /** Each way. */
  readonly messages: number;
  readonly faults: number;
  readonly seed: number;
  readonly locations?: number;
}

export interface Score {
  readonly inbound: number;
  readonly outbound: number;
  readonly faults: number;
  /** Of what the Macs had, not in the CRM at the end. */
  readonly lost: number;
  /** In the CRM twice, or written to a socket twice. */
  readonly doubled: number;
  /** Chats whose messages arrived in another order. */
  readonly order: number;
  /** Messages whose statuses are no `pending`, then one terminal. */
  readonly statuses: number;
  /** Answered 200 without a frame on the Mac's socket. */
  readonly false200: number;
  readonly codes: Readonly<Record<string, number>>;
}

const CHATS = 3;
const PAUSE_MS = 3;
const QUIET_MS = 90_000;

/** A Mac that comes back wherever it can, and sends again what nobody acknowledged. */
class StubbornMac {
  readonly locationId: string;
  readonly frames: string[] = [];
  readonly #house: House;
  readonly #random: () => number;
  readonly #device = `mac-${randomUUID()}`;
  readonly #outbox = new Map<number, object>();
  #seq = 1;
  #mac: Mac | undefined;
  #stopped = false;

  constructor(house: House, locationId: string, random: () => number) {
    this.#house = house;
    this.locationId = locationId;
    this.#random = random;
  }

  get unacknowledged(): number {
    return this.#outbox.size;
  }

  async live(): Promise<void> {
    while (!this.#stopped) {
      try {
        const at = Math.floor(this.#random() * this.#house.nodes.length);
        const mac = await this.#house.mac(at, this.locationId, this.#device);
        this.#mac = mac;
        for (const frame of this.#outbox.values()) mac.send(frame);
        await this.#attend(mac);
      } catch {
        // That node is down or does not want us now: another one.
      }
      this.#mac = undefined;
      await sleep(50 + this.#random() * 200);
    }
  }

  async #attend(mac: Mac): Promise<void> {
    let read = 0;
    const ended = mac.closed.then(() => true);
    while (!(await Promise.race([ended, sleep(5).then(() => false)])) || read < mac.frames.length) {
      for (; read < mac.frames.length; read++) {
        const frame = mac.frames[read];
        if (frame?.type === 'ack') this.#outbox.delete(frame.seq);
        if (frame?.type !== 'send') continue;
        this.frames.push(frame.messageId ?? '');
        const { requestId, messageId } = frame;
        this.#put({ type: 'message_status', requestId, messageId, status: 'delivered' });
      }
      if (!mac.isOpen && read >= mac.frames.length) return;
    }
  }

  say(chat: number, text: string): void {
    const sender = '+15555550100';
    this.#put({
      type: 'message_received',
      guid: randomUUID().toUpperCase(),
      sender,
      text,
      service: 'iMessage',
      sentAt: new Date().toISOString(),
      chat: { id: chat, isGroup: false, recipients: [sender] },
      attachments: [],
    });
  }

  drop(): void {
    this.#mac?.terminate();
  }

  stop(): void {
    this.#stopped = true;
    this.drop();
  }

  #put(frame: object): void {
    const seq = this.#seq++;
    this.#outbox.set(seq, { ...frame, seq });
    if (this.#mac?.isOpen) this.#mac.send({ ...frame, seq });
  }
}

export async function campaign(options: CampaignOptions): Promise<Score> {
  const undo = undoList();
  try {
    const house = await openHouse(undo, {
      nodes: 2,
      env: { RATE_LIMIT_CRM_WEBHOOK: '1000000' },
    });
    house.crm.settings.honourIdempotencyKey = true;
    return await play(house, options);
  } finally {
    await undo.run();
  }
}

async function play(
  house: House,
  { messages, faults, seed, locations = 4 }: CampaignOptions,
): Promise<Score> {
  const { crm } = house;
  const random = seeded(seed);
  const macs: StubbornMac[] = [];
  for (let index = 0; index < locations; index++)
    macs.push(new StubbornMac(house, await house.location(), seeded(seed + index + 1)));
  const lives = macs.map((mac) => mac.live());
  const said = new Map<string, string[]>();
  const answers: { messageId: string; locationId: string; status: number }[] = [];
  let broken = 0;

  async function speak(): Promise<void> {
    const underWay = new Set<Promise<void>>();
    for (let index = 0; index < messages; index++) {
      const mac = macs[index % macs.length];
      if (mac === undefined) break;
      while (mac.unacknowledged > 40) await sleep(10);
      const chat = Math.floor(random() * CHATS);
      const key = `${mac.locationId} ${chat}`;
      const text = `${key} ${index}`;
      said.set(key, [...(said.get(key) ?? []), text]);
      mac.say(chat, text);
      const asked = house
        .webhook(Math.floor(random() * house.nodes.length), mac.locationId, { message: text })
        .then(({ messageId = '', status = 0 }) => {
          answers.push({ messageId, locationId: mac.locationId, status });
        });
      underWay.add(asked);
      void asked.finally(() => underWay.delete(asked));
      while (underWay.size > 50) await Promise.race(underWay);
      await sleep(PAUSE_MS);
    }
    await Promise.all(underWay);
  }

  async function breakThings(): Promise<void> {
    const node = () => house.node(Math.floor(random() * house.nodes.length));
    const kinds: (() => Promise<unknown>)[] = [
      async () => macs[Math.floor(random() * macs.length)]?.drop(),
      async () => node().redis.cut(),
      async () => node().postgres.cut(),
      () => house.redis.flush(),
      async () => {
        const { service } = node();
        service.pause();
        await sleep(500 + random() * 2500);
        service.resume();
      },
      async () => {
        const { redis } = node();
        const gap = redis.add({ type: 'timeout' });
        await sleep(500 + random() * 2500);
        gap.remove();
      },
      async () => {
        const { service } = node();
        await service.kill9();
        await service.start();
      },
    ];
    while (broken < faults) {
      await kinds[broken++ % kinds.length]?.();
      await sleep(random() * 300);
    }
  }

  const breaking = breakThings();
  await speak();
  await breaking;
  const end = performance.now() + QUIET_MS;
  while (macs.some((mac) => mac.unacknowledged > 0) && performance.now() < end) await sleep(200);
  for (const mac of macs) mac.stop();
  await Promise.all(lives);

  let [lost, doubled, order] = [0, 0, 0];
  for (const [key, texts] of said) {
    const arrived = crm.messages.flatMap(({ message }) => (message.startsWith(`${key} `) ? [message] : []));
    const once = [...new Set(arrived)];
    lost += texts.filter((text) => !once.includes(text)).length;
    doubled += arrived.length - once.length;
    const expected = texts.filter((text) => once.includes(text));
    if (once.some((text, index) => text !== expected[index])) order++;
  }
  const written = macs.flatMap(({ frames }) => frames);
  doubled += written.length - new Set(written).size;
  const wellTold = /^(pending )?(delivered|failed)?$/;
  const told = answers.map(({ messageId }) => crm.accepted(messageId).join(' '));
  const codes: Record<string, number> = {};
  for (const { status } of answers) codes[status] = (codes[status] ?? 0) + 1;
  return {
    inbound: messages,
    outbound: answers.length,
    faults: broken,
    lost,
    doubled,
    order,
    statuses: told.filter((statuses) => !wellTold.test(statuses) && statuses !== 'pending').length,
    false200: answers.filter(({ status, messageId }) => status === 200 && !written.includes(messageId))
      .length,
    codes,
  };
}

/** The same numbers for the same seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      messages: { type: 'string', default: '5000' },
      faults: { type: 'string', default: '150' },
      seed: { type: 'string', default: '1' },
    },
  });
  const { codes, ...score } = await campaign({
    messages: Number(values.messages),
    faults: Number(values.faults),
    seed: Number(values.seed),
  });
  const line = Object.entries(score).map(([name, count]) => `${name}=${count}`);
  const answers = Object.entries(codes).map(([status, count]) => `http${status}=${count}`);
  process.stdout.write(`${[...line, ...answers].join(' ')}\n`);
  const { lost, doubled, order, false200 } = score;
  process.exit(lost + doubled + order + false200 === 0 ? 0 : 1);
}
