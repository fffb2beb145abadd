import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { staysAway } from '@footbridge/protocol/close-codes';
import type { SendFrame } from '@footbridge/protocol/frames';
import type { Mac } from '@footbridge/testkit/mac';

import type { Cluster } from './cluster.ts';

/** One registration of a Mac as its owner saw it. Times are monotonic. */
export interface Binding {
  readonly device: string;
  readonly node?: number;
  /** Before the Mac said `register`. */
  readonly askedAt: number;
  /** It heard `registered`. */
  readonly boundAt: number;
  /** The connection broke on the side of the Mac, and what was on the line is lost. */
  droppedAt: number;
  /** The node was killed, and with it went the frames that this Mac had not confirmed. */
  nodeKilledAt: number;
  /** The time since which no other node could take copies of the frames of that node, as of its kill. */
  aloneSince: number;
}

/** Records that a node was killed. */
export function noteKill(bindings: readonly Binding[], node: number, aloneSince: number): void {
  for (const binding of bindings)
    if (binding.node === node && binding.nodeKilledAt === Infinity)
      Object.assign(binding, { nodeKilledAt: performance.now(), aloneSince });
}

export interface Heard {
  readonly requestId: string;
  readonly messageId: string;
  readonly binding: Binding;
  /** Whether the service marked it as sent before. */
  readonly again: boolean;
  readonly at: number;
}

const LOOK_MS = 5;
/** Frames a Mac may have unacknowledged, less a few. */
const WINDOW = 60;
/** How many acknowledged frames it can repeat. */
const REPEATED = 30;

/** A Mac that reconnects to any node until it is told to stay away, and resends unacknowledged frames. */
export class ReconnectingMac {
  readonly device = `mac-${randomUUID()}`;
  readonly locationId: string;
  readonly bindings: Binding[] = [];
  readonly heard: Heard[] = [];
  /** Said, in the order of each chat. */
  readonly said = new Map<string, string[]>();
  /** Whether it wants the location; a displaced Mac does not. */
  wanted: boolean;
  readonly #cluster: Cluster;
  readonly #random: () => number;
  /** Unacknowledged frames, oldest first. */
  readonly #outbox = new Map<number, object>();
  /** The newest frames that were acknowledged. */
  #acknowledged: object[] = [];
  /** Of these, how many are on the line. */
  #underWay = 0;
  #seq = 1;
  #mac: Mac | undefined;
  #stopped = false;

  constructor(cluster: Cluster, locationId: string, random: () => number, wanted: boolean) {
    this.#cluster = cluster;
    this.locationId = locationId;
    this.#random = random;
    this.wanted = wanted;
  }

  get unacknowledged(): number {
    return this.#outbox.size;
  }

  async live(): Promise<void> {
    while (!this.#stopped) {
      if (this.wanted) await this.#serve();
      this.#mac = undefined;
      await sleep(50 + this.#random() * 200);
    }
  }

  say(chat: number, number: number): void {
    const sender = `+1415555${2000 + chat}`;
    const key = `${this.device} ${chat}`;
    const text = `${key} ${number}`;
    this.said.set(key, [...(this.said.get(key) ?? []), text]);
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
    const binding = this.bindings.at(-1);
    if (this.#mac?.isOpen && binding !== undefined) binding.droppedAt = performance.now();
    this.#mac?.terminate();
  }

  /** Sends the newest acknowledged frames once more, as a Mac whose journal was restored does. */
  repeatEverything(): void {
    const frames = this.#acknowledged;
    this.#acknowledged = [];
    for (const frame of frames) this.#put(frame);
  }

  /** The network between the Mac and that node may lose what is on it. */
  loseLine(node: number): void {
    const binding = this.bindings.at(-1);
    if (this.#mac?.isOpen && binding?.node === node) binding.droppedAt = performance.now();
  }

  noteKill(node: number, aloneSince: number): void {
    noteKill(this.bindings, node, aloneSince);
  }

  stop(): void {
    this.#stopped = true;
    this.drop();
  }

  async #serve(): Promise<void> {
    const askedAt = performance.now();
    try {
      const at = Math.floor(this.#random() * this.#cluster.nodes.length);
      const mac = await this.#cluster.mac(at, this.locationId, this.device, { capabilities: ['received'] });
      const binding = {
        device: this.device,
        node: at,
        askedAt,
        boundAt: performance.now(),
        droppedAt: Infinity,
        nodeKilledAt: Infinity,
        aloneSince: Infinity,
      };
      this.bindings.push(binding);
      this.#mac = mac;
      this.#underWay = 0;
      await this.#attend(mac, binding);
      const { code } = await mac.closed;
      if (staysAway(code)) this.wanted = false;
    } catch {
      // That node is down or does not want us now: another one.
    }
  }

  async #attend(mac: Mac, binding: Binding): Promise<void> {
    let read = 0;
    while (mac.isOpen || read < mac.frames.length) {
      for (; read < mac.frames.length; read++) {
        const frame = mac.frames[read];
        if (frame?.type === 'ack') this.#acknowledge(frame.seq);
        if (frame?.type === 'send') this.#take(mac, frame, binding);
      }
      this.#fillWindow(mac);
      await sleep(LOOK_MS);
    }
  }

  /** The journal of a real Mac makes a repeated message id `delivered` again without sending it: here there is nothing to send. */
  #take(mac: Mac, { requestId, messageId, again = false }: SendFrame, binding: Binding): void {
    if (mac.isOpen) mac.confirm(requestId);
    // The journal recognises a frame that is sent again because its confirmation was lost (M10).
    if (again && this.heard.some((before) => before.requestId === requestId)) return;
    this.heard.push({ requestId, messageId: messageId ?? '', binding, again, at: performance.now() });
    this.#put({ type: 'message_status', requestId, messageId, status: 'delivered' });
  }

  #acknowledge(seq: number): void {
    const frame = this.#outbox.get(seq);
    if (frame === undefined) return;
    this.#outbox.delete(seq);
    this.#underWay--;
    this.#acknowledged = [...this.#acknowledged, frame].slice(-REPEATED);
  }

  #put(frame: object): void {
    const seq = this.#seq++;
    this.#outbox.set(seq, { ...frame, seq });
  }

  #fillWindow(mac: Mac): void {
    for (const frame of this.#outbox
      .values()
      .drop(this.#underWay)
      .take(WINDOW - this.#underWay)) {
      mac.send(frame);
      this.#underWay++;
    }
  }
}
