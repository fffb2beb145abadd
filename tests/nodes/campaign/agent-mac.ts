import { setTimeout as sleep } from 'node:timers/promises';

import { startAgent } from '@footbridge/testkit/agent';
import type { Agent, AgentOptions } from '@footbridge/testkit/agent';
import type { Cleanup } from '@footbridge/testkit/cleanup';
import type { Crm } from '@footbridge/testkit/crm';

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
  /** Whether a fault stops and starts it at the moment. */
  isHeldByFault = false;
  readonly #crm: Crm;
  readonly #unsaid: Utterance[] = [];
  #saidCount = 0;
  #stopped = false;

  constructor(agent: Agent, locationId: string, crm: Crm) {
    this.agent = agent;
    this.locationId = locationId;
    this.#crm = crm;
  }

  static async start(cleanup: Cleanup, crm: Crm, options: AgentOptions): Promise<AgentMac> {
    const agent = await startAgent({ env: { FOOTBRIDGE_BACKOFF_CAP_SEC: '2' }, ...options });
    cleanup.add(() => agent.stop());
    await agent.registered();
    return new AgentMac(agent, options.location, crm);
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
    if (this.isHeldByFault) return;
    const end = await Promise.race([this.agent.exited, sleep(0)]);
    if (end !== undefined) await this.agent.start().catch(() => undefined);
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
