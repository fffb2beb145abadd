import type { Agent, SimulatedMessage, SimulatorState } from '@footbridge/testkit/agent';

type Chat = SimulatorState['chats'][number];

export interface PhoneState {
  readonly macos: string;
  readonly chats: readonly Chat[];
}

/** The customer's phone. It has the texts of every Mac that served the location, also after such a Mac has stopped. */
export class CustomerPhone {
  readonly #first: Agent;
  readonly #others = new Set<Agent>();
  /** The last known state of every Mac. */
  readonly #states = new Map<Agent, SimulatorState>();

  constructor(first: Agent) {
    this.#first = first;
  }

  add(mac: Agent): void {
    this.#others.add(mac);
  }

  /** Reads a Mac for the last time. To be called before it stops. */
  async retire(mac: Agent): Promise<void> {
    await this.#read(mac);
    this.#others.delete(mac);
  }

  async state(): Promise<PhoneState> {
    await Promise.all([this.#first, ...this.#others].map((mac) => this.#read(mac)));
    const first = this.#states.get(this.#first);
    return { macos: first?.macos ?? '', chats: mergeChats(first, [...this.#states.values()]) };
  }

  async #read(mac: Agent): Promise<void> {
    try {
      this.#states.set(mac, await mac.simulatorState());
    } catch {
      // The Mac is stopped or restarting; its last state is still what the phone has.
    }
  }
}

/** Merges the chats with the same members. The chats of the first Mac keep their ids. */
function mergeChats(first: SimulatorState | undefined, states: readonly SimulatorState[]): Chat[] {
  const merged = new Map<string, Chat>();
  for (const state of states) {
    for (const chat of state.chats) {
      const members = [...chat.recipients].sort().join(' ');
      const messages = state === first ? chat.messages : chat.messages.map(markOther);
      const known = merged.get(members);
      merged.set(members, { ...(known ?? chat), messages: [...(known?.messages ?? []), ...messages] });
    }
  }
  return [...merged.values()].map((chat) => ({
    ...chat,
    messages: chat.messages.toSorted((a, b) => a.sentAt - b.sentAt),
  }));
}

/** The first Mac does not know this message, so the customer cannot react to it there. */
const markOther = (message: SimulatedMessage): SimulatedMessage => ({ ...message, isFromOtherMac: true });
