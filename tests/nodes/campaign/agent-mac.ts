import { setTimeout as sleep } from 'node:timers/promises';

import { startAgent } from '@footbridge/testkit/agent';
import type { Agent, AgentOptions } from '@footbridge/testkit/agent';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import type { Crm } from '@footbridge/testkit/crm';

import type { Binding } from '../reconnecting-mac.ts';
import type { Balancer } from './balancer.ts';

interface Utterance {
  readonly handle: string;
  readonly text: string;
}

const LOOK_MS = 20;
const AGAIN_MS = 200;

/** A Mac that is the real agent program with simulated Messages. A supervisor starts it again when it exits. */
export class AgentMac {
  readonly locationId: string;
  readonly agent: Agent;
  /** It always wants its location; no other device claims it. */
  readonly wanted = true;
  /** The texts of each chat, in order. */
  readonly said = new Map<string, string[]>();
  readonly #crm: Crm;
  readonly #balancer: Balancer;
  readonly #kills: (Pick<Binding, 'nodeKilledAt' | 'aloneSince'> & { readonly node: number })[] = [];
  readonly #unsaid: Utterance[] = [];
  /** Whether a fault stops and starts it at the moment. */
  #isHeldByFault = false;
  #starting: Promise<unknown> | undefined;
  #saidCount = 0;
  #stopped = false;

  constructor(agent: Agent, locationId: string, crm: Crm, balancer: Balancer) {
    this.agent = agent;
    this.locationId = locationId;
    this.#crm = crm;
    this.#balancer = balancer;
  }

  /** The agent connects through the balancer. */
  static async start(
    cleanup: Cleanup,
    crm: Crm,
    balancer: Balancer,
    options: Omit<AgentOptions, 'url'>,
  ): Promise<AgentMac> {
    const { url } = balancer;
    const agent = await startAgent({ env: { FOOTBRIDGE_BACKOFF_CAP_SEC: '2' }, ...options, url });
    cleanup.add(() => agent.stop());
    await agent.registered();
    return new AgentMac(agent, options.location, crm, balancer);
  }

  /** How many messages the CRM does not have yet. */
  get unacknowledged(): number {
    const arrived = this.#crm.messages.filter(({ locationId }) => locationId === this.locationId);
    return this.#saidCount - new Set(arrived.map(({ message }) => message)).size;
  }

  /** A person writes. While the agent is down, the message waits in this process. */
  say(chat: number, number: number): void {
    const key = `agent-${this.locationId} ${chat}`;
    const text = `${key} ${number}`;
    this.said.set(key, [...(this.said.get(key) ?? []), text]);
    this.#saidCount++;
    this.#unsaid.push({ handle: `+1415555${2000 + chat}`, text });
  }

  noteKill(node: number, aloneSince: number): void {
    this.#kills.push({ node, nodeKilledAt: performance.now(), aloneSince });
  }

  async killAndStart(pauseMs: number): Promise<void> {
    this.#isHeldByFault = true;
    await this.#starting;
    await this.agent.kill9();
    await sleep(pauseMs);
    await this.#start();
    this.#isHeldByFault = false;
  }

  /** The registrations in its log, each with the connection that it was made on. */
  bindings(): Binding[] {
    return this.agent.logs.flatMap(({ event, time }) => {
      const boundAt = Date.parse(String(time)) - performance.timeOrigin;
      const connection = this.#balancer.connections.findLast(
        ({ openedAt, closedAt }) => openedAt <= boundAt && boundAt <= closedAt,
      );
      if (event !== 'link.registered' || connection === undefined) return [];
      const { node, openedAt: askedAt, closedAt: droppedAt } = connection;
      const { nodeKilledAt = Infinity, aloneSince = Infinity } =
        this.#kills.find((one) => one.node === node && one.nodeKilledAt >= askedAt) ?? {};
      const device = this.locationId;
      return [{ device, node, askedAt, boundAt, droppedAt, nodeKilledAt, aloneSince }];
    });
  }

  /** The requests that are in its journal. */
  received(): Set<string> {
    return new Set(
      this.agent.logs.flatMap(({ event, requestId }) =>
        event === 'queue.request_received' ? [String(requestId)] : [],
      ),
    );
  }

  /** The messages whose sends were interrupted by a crash. */
  interrupted(): Set<string> {
    return new Set(
      this.agent.logs.flatMap(({ event, key }) =>
        event === 'queue.outcome_unknown' ? [String(key).replace(/^message /, '')] : [],
      ),
    );
  }

  async live(): Promise<void> {
    while (!this.#stopped) {
      await this.#supervise();
      const next = this.#unsaid[0];
      if (next === undefined) await sleep(LOOK_MS);
      else if (await this.#write(next)) this.#unsaid.shift();
      else await sleep(AGAIN_MS);
    }
  }

  stop(): void {
    this.#stopped = true;
  }

  /** Resolves with the texts that it sent to people, as the simulated Messages shows them. */
  async sentTexts(): Promise<string[]> {
    const { chats } = await this.agent.simulatorState();
    return chats
      .flatMap(({ messages }) => messages)
      .filter(({ from, state }) => from === 'me' && state !== 'failed')
      .map(({ text }) => text);
  }

  async #supervise(): Promise<void> {
    const end = await Promise.race([this.agent.exited, sleep(0)]);
    if (end !== undefined && !this.#isHeldByFault) await this.#start();
  }

  /** The supervisor and a fault never start it at the same time. A start that fails is repeated by the supervisor. */
  #start(): Promise<unknown> {
    this.#starting ??= this.agent
      .start()
      .catch(() => undefined)
      .finally(() => (this.#starting = undefined));
    return this.#starting;
  }

  /** The control port may fail after it has stored the message: a message that is there is not written again. */
  async #write({ handle, text }: Utterance): Promise<boolean> {
    try {
      await this.agent.say(handle, { text });
      return true;
    } catch {
      return this.#isStored(text);
    }
  }

  async #isStored(text: string): Promise<boolean> {
    for (;;) {
      try {
        const { chats } = await this.agent.simulatorState();
        return chats.some(({ messages }) => messages.some((message) => message.text === text));
      } catch {
        if (this.#stopped) return true;
        await this.#supervise();
        await sleep(AGAIN_MS);
      }
    }
  }
}
