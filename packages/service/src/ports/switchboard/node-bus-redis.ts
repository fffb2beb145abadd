import { randomUUID } from 'node:crypto';

import type { Clock } from '../../clock.ts';
import type { Logger } from '../../log.ts';
import type { Redis } from '../../redis/open-redis.ts';
import { createBusCipher } from './bus.ts';
import type { Ask, AskOutcome, BusCipher, BusMessage, Cut } from './bus.ts';
import type { Occupant } from './switchboard.ts';

const WHO_MS = 1000;

/** What a node does about the words of others. */
export interface Hearing {
  asked(ask: Ask): AskOutcome;
  cut(notice: Cut): void;
  /** Redis forgot leases: whoever holds some should see to it that they are there. */
  forgotten(): void;
  /** Who is connected to this node. */
  here(): Occupant[];
}

export interface NodeBusOptions {
  readonly redis: Pick<Redis, 'publish' | 'subscribe'>;
  readonly nodeSecret: string;
  readonly node: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly hearing: Hearing;
}

/** What came of a question. `nobody`: it certainly reached no node. `silence`: nobody can tell whether it was acted on. */
export type Asked = AskOutcome | 'nobody' | 'silence';

/** Nodes among themselves: a question is answered or it is not; a notice may get lost. */
export class NodeBus {
  readonly #redis: Pick<Redis, 'publish' | 'subscribe'>;
  readonly #cipher: BusCipher;
  readonly #node: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #hearing: Hearing;
  readonly #questions = new Map<string, (outcome: AskOutcome) => void>();
  readonly #whoAsked = new Map<string, (occupants: Occupant[]) => void>();
  #forged = 0;

  constructor({ redis, nodeSecret, node, clock, log, hearing }: NodeBusOptions) {
    this.#redis = redis;
    this.#cipher = createBusCipher(nodeSecret);
    this.#node = node;
    this.#clock = clock;
    this.#log = log;
    this.#hearing = hearing;
  }

  async open(): Promise<void> {
    const hear = (sealed: Buffer) => this.#hear(sealed);
    await this.#redis.subscribe(channelOf(this.#node), hear);
    await this.#redis.subscribe(EVERYBODY, hear);
  }

  /** Rejects with EngineError when Redis does not take the question. */
  async ask(to: string, question: Omit<Ask, 'type' | 'id' | 'from'>, patienceMs: number): Promise<Asked> {
    const id = randomUUID();
    const { promise, resolve } = Promise.withResolvers<Asked>();
    this.#questions.set(id, resolve);
    // After a stall of our own timers run before sockets are read: an answer that is there already still counts.
    const cancel = this.#clock.after(patienceMs, () => setImmediate(() => resolve('silence')));
    try {
      const heard = await this.#tell(channelOf(to), { type: 'ask', id, from: this.#node, ...question });
      return heard === 0 ? 'nobody' : await promise;
    } finally {
      cancel();
      this.#questions.delete(id);
    }
  }

  cut(to: string, notice: Omit<Cut, 'type'>): void {
    this.#notify(channelOf(to), { type: 'cut', ...notice });
  }

  forgotten(): void {
    this.#notify(EVERYBODY, { type: 'forgotten', from: this.#node });
  }

  /** Everybody on every node that answers within a second. */
  async occupants(): Promise<Occupant[]> {
    const id = randomUUID();
    const all: Occupant[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    let [answers, expected] = [0, Infinity];
    this.#whoAsked.set(id, (occupants) => {
      for (const occupant of occupants) all.push(occupant);
      if (++answers >= expected) resolve();
    });
    const cancel = this.#clock.after(WHO_MS, () => setImmediate(resolve));
    try {
      expected = await this.#tell(EVERYBODY, { type: 'who', id, from: this.#node });
      if (answers < expected) await promise;
    } finally {
      cancel();
      this.#whoAsked.delete(id);
    }
    return all;
  }

  #hear(sealed: Buffer): void {
    const message = this.#cipher.open(sealed);
    if (message === undefined) {
      if (this.#forged++ % 1000 === 0)
        this.#log.warn({ count: this.#forged }, 'a bus message that no node of ours sent was ignored');
      return;
    }
    switch (message.type) {
      case 'ask': {
        const { id, from } = message;
        return this.#notify(channelOf(from), { type: 'answer', id, outcome: this.#hearing.asked(message) });
      }
      case 'answer':
        return this.#questions.get(message.id)?.(message.outcome);
      case 'cut':
        return this.#hearing.cut(message);
      case 'forgotten':
        return message.from === this.#node ? undefined : this.#hearing.forgotten();
      case 'who': {
        const { id, from } = message;
        return this.#notify(channelOf(from), { type: 'here', id, occupants: this.#hearing.here() });
      }
      case 'here':
        return this.#whoAsked.get(message.id)?.(message.occupants);
    }
  }

  #tell(channel: string, message: BusMessage): Promise<number> {
    return this.#redis.publish(channel, this.#cipher.seal(message));
  }

  #notify(channel: string, message: BusMessage): void {
    this.#tell(channel, message).catch((error: unknown) =>
      this.#log.debug({ err: error, type: message.type }, 'a word to another node was lost'),
    );
  }
}

const EVERYBODY = 'footbridge:nodes';
const channelOf = (node: string) => `footbridge:node:${node}`;
