import { randomUUID } from 'node:crypto';

import type { ReachResultFrame } from '@footbridge/protocol/frames';
import { afterReading } from '@footbridge/runtime/after-reading';
import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import type { Redis } from '../../platform/redis/open-redis.ts';
import { createBusCipher } from './bus.ts';
import type {
  AdoptNotice,
  BusCipher,
  BusMessage,
  ConfirmedNotice,
  CopyNotice,
  CopyRequest,
  DisconnectNotice,
  HandedOver,
  KeptNotice,
  MacName,
  EndCallsRequest,
  EndedCalls,
  StatusQuestion,
  TakenNotice,
  TakeOverRequest,
  WriteRequest,
  WriteResult,
} from './bus.ts';
import { requestIdsOf } from './send-ledger.ts';
import type { HandedFrame } from './send-ledger.ts';
import { newerStatus } from './switchboard.ts';
import type { BoundMac, MacQuery, ReportedStatus } from './switchboard.ts';

const LIST_TIMEOUT_MS = 1000;
const OFFER_TIMEOUT_MS = 500;
const QUESTION_TIMEOUT_MS = 1000;
/** A node that was frozen for longer than this has lost its Macs, and keeps their frames until they come back. */
const LATE_MS = 60_000;
/** Frames are handed over in messages of about this size. */
const MAX_PART_BYTES = 512 * 1024;
const MAX_MACS_PER_NOTICE = 1000;

/** Handles the messages of other nodes about unconfirmed frames. */
export interface FrameHandler {
  /** Frames that were asked for arrived after the timeout. */
  onLateFrames(mac: MacName, frames: readonly HandedFrame[]): void;
  onTaken(notice: TakenNotice): void;
  onKept(notice: KeptNotice): void;
  onAdopt(notice: AdoptNotice): void;
  onCopy(notice: CopyNotice): void;
  onCopyRequest(request: CopyRequest): void;
  onConfirmed(notice: ConfirmedNotice): void;
}

/** Handles the messages of other nodes. */
export interface BusHandler {
  readonly frames: FrameHandler;
  /** Never rejects. */
  onWrite(request: WriteRequest): Promise<WriteResult>;
  onDisconnect(notice: DisconnectNotice): void;
  /** Redis lost leases: the node restores its own. */
  onLeasesLost(): void;
  /** Returns the frames that the device has not confirmed, and stops writing to it: another node has bound it. */
  onTakeOver(request: TakeOverRequest): HandedFrame[];
  /** Resolves once this node has no call for the location in flight. The value is how long an earlier owner may have one. Never rejects. */
  onEndCalls(request: EndCallsRequest): Promise<EndedCalls>;
  onStatusQuestion(question: StatusQuestion): Promise<ReportedStatus | undefined>;
  onMacReply(frame: ReachResultFrame): void;
  /** Whether this node can keep frames of a node that is shutting down. */
  isStaying(): boolean;
  /** Returns the Macs connected to this node. */
  localMacs(query: MacQuery): BoundMac[];
}

export interface NodeBusDeps {
  readonly redis: Pick<Redis, 'publish' | 'subscribe'>;
  readonly nodeSecret: string;
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly handler: BusHandler;
}

/** `no_subscriber`: the request certainly reached no node. `timeout`: it is unknown whether the frame was written. */
export type WriteReply = WriteResult | 'no_subscriber' | 'timeout';

/** Messages between nodes over Redis pub/sub. Delivery is at most once: requests have a timeout, notices may get lost. */
export class NodeBus {
  readonly #redis: Pick<Redis, 'publish' | 'subscribe'>;
  readonly #cipher: BusCipher;
  readonly #node: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #handler: BusHandler;
  readonly #writes = new Map<string, (result: WriteResult) => void>();
  readonly #lists = new Map<string, (macs: BoundMac[]) => void>();
  readonly #takeOvers = new Map<string, (part: HandedOver) => void>();
  readonly #endings = new Map<string, (ended: EndedCalls) => void>();
  readonly #questions = new Map<string, (known: ReportedStatus | undefined) => void>();
  readonly #offers = new Map<string, (node: string) => void>();
  #forged = 0;

  constructor({ redis, nodeSecret, node, clock, log, handler }: NodeBusDeps) {
    this.#redis = redis;
    this.#cipher = createBusCipher(nodeSecret);
    this.#node = node;
    this.#clock = clock;
    this.#log = log;
    this.#handler = handler;
  }

  async open(): Promise<void> {
    const receive = (sealed: Buffer) => this.#receive(sealed);
    await this.#redis.subscribe(channelOf(this.#node), receive);
    await this.#redis.subscribe(ALL_NODES, receive);
  }

  /** Rejects with EngineError when the request cannot be published. */
  async write(
    to: string,
    request: Omit<WriteRequest, 'type' | 'id' | 'from'>,
    timeoutMs: number,
  ): Promise<WriteReply> {
    const id = randomUUID();
    const { promise, resolve } = Promise.withResolvers<WriteReply>();
    this.#writes.set(id, resolve);
    const cancel = this.#clock.after(timeoutMs, () => afterReading(() => resolve('timeout')));
    try {
      const subscribers = await this.#publish(channelOf(to), {
        type: 'write',
        id,
        from: this.#node,
        ...request,
      });
      return subscribers === 0 ? 'no_subscriber' : await promise;
    } finally {
      cancel();
      this.#writes.delete(id);
    }
  }

  disconnect(to: string, notice: Omit<DisconnectNotice, 'type'>): void {
    this.#notify(channelOf(to), { type: 'disconnect', ...notice });
  }

  /**
   * Asks one node, or `all` others. When the asked node is gone, asks all others, which may have copies. Resolves with the frames that
   * arrive in time, one list per node. `onLateFrames` gets later frames.
   */
  async takeOver(
    to: string,
    request: Omit<TakeOverRequest, 'type' | 'id' | 'from'>,
    timeoutMs: number,
  ): Promise<HandedFrame[][]> {
    const id = randomUUID();
    const { locationId, deviceId } = request;
    const inTime = new Map<string, HandedFrame[]>();
    const { promise, resolve } = Promise.withResolvers<void>();
    let isLate = false;
    let [results, expected] = [0, Infinity];
    const finish = () => {
      cancelForgetting();
      this.#takeOvers.delete(id);
      resolve();
    };
    const cancelForgetting = this.#clock.after(LATE_MS, finish);
    this.#takeOvers.set(id, ({ node = to, frames, isLast }) => {
      if (isLate) {
        this.#handler.frames.onLateFrames({ locationId, deviceId }, frames);
        this.#taken(node, { locationId, deviceId }, frames);
      } else inTime.set(node, [...(inTime.get(node) ?? []), ...frames]);
      if (isLast && ++results >= expected) finish();
    });
    const cancel = this.#clock.after(timeoutMs, () => afterReading(resolve));
    try {
      const message = { type: 'take_over', id, from: this.#node, ...request } as const;
      const isThere = to !== 'all' && (await this.#publish(channelOf(to), message)) > 0;
      expected = isThere ? 1 : (await this.#publish(ALL_NODES, message)) - 1;
      if (results < expected) await promise;
      else finish();
    } finally {
      cancel();
      isLate = true;
    }
    for (const [node, frames] of inTime) this.#taken(node, { locationId, deviceId }, frames);
    return [...inTime.values()];
  }

  /** Resolves with undefined when the node is gone or does not respond in time. */
  async endCalls(
    to: string,
    request: Omit<EndCallsRequest, 'type' | 'id' | 'from'>,
    timeoutMs: number,
  ): Promise<EndedCalls | undefined> {
    const id = randomUUID();
    const { promise, resolve } = Promise.withResolvers<EndedCalls | undefined>();
    this.#endings.set(id, resolve);
    const cancel = this.#clock.after(timeoutMs, () => afterReading(() => resolve(undefined)));
    try {
      const message = { type: 'settle', id, from: this.#node, ...request } as const;
      return (await this.#publish(channelOf(to), message)) > 0 ? await promise : undefined;
    } finally {
      cancel();
      this.#endings.delete(id);
    }
  }

  /** Resolves with the newest status of a message that another node knows, and whether all nodes have responded. */
  async statusOf(
    question: Pick<StatusQuestion, 'locationId' | 'messageId' | 'isRejected'>,
  ): Promise<{ readonly newest: ReportedStatus | undefined; readonly isComplete: boolean }> {
    const id = randomUUID();
    const { promise, resolve } = Promise.withResolvers<void>();
    let newest: ReportedStatus | undefined;
    let [answers, expected] = [0, Infinity];
    this.#questions.set(id, (known) => {
      newest = newerStatus(newest, known);
      if (++answers >= expected) resolve();
    });
    const cancel = this.#clock.after(QUESTION_TIMEOUT_MS, () => afterReading(resolve));
    try {
      const message = { type: 'status_of', id, from: this.#node, ...question } as const;
      expected = (await this.#publish(ALL_NODES, message)) - 1;
      if (answers < expected) await promise;
    } finally {
      cancel();
      this.#questions.delete(id);
    }
    return { newest, isComplete: answers >= expected };
  }

  /** Resolves with a node that keeps the frames of this node, or undefined when there is none. */
  async findAdopter(): Promise<string | undefined> {
    const id = randomUUID();
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    this.#offers.set(id, resolve);
    const cancel = this.#clock.after(OFFER_TIMEOUT_MS, () => afterReading(() => resolve(undefined)));
    try {
      const subscribers = await this.#publish(ALL_NODES, { type: 'offer', id, from: this.#node });
      return subscribers > 1 ? await promise : undefined;
    } finally {
      cancel();
      this.#offers.delete(id);
    }
  }

  async adopt(to: string, { frames, ...mac }: Omit<AdoptNotice, 'type'>): Promise<void> {
    // The adopter puts what it gets before what it has.
    for (const part of partsOf(frames).toReversed())
      await this.#publish(channelOf(to), { type: 'adopt', ...mac, frames: part });
  }

  /** Sends copies of frames to all other nodes, in order. Rejects with EngineError when they cannot be published. */
  async copy(mac: MacName, frames: readonly HandedFrame[]): Promise<void> {
    const copies = partsOf(frames).map((part) =>
      this.#publish(ALL_NODES, { type: 'copy', from: this.#node, ...mac, frames: part }),
    );
    await Promise.all(copies);
  }

  /** Sends copies of all frames of the device to a node that asked for them. */
  copyAll(to: string, mac: MacName, frames: readonly HandedFrame[]): void {
    for (const [index, part] of partsOf(frames).entries())
      this.#notify(channelOf(to), {
        type: 'copy',
        from: this.#node,
        ...mac,
        frames: part,
        isFirst: index === 0,
      });
  }

  requestCopies(to: string, mac: MacName): void {
    this.#notify(channelOf(to), { type: 'copy_request', from: this.#node, ...mac });
  }

  /** Tells all nodes that the device has the frames. */
  confirmed(mac: MacName, requestIds: readonly string[]): void {
    this.#notify(ALL_NODES, { type: 'confirmed', ...mac, requestIds });
  }

  kept(macs: readonly MacName[]): void {
    for (let start = 0; start < macs.length; start += MAX_MACS_PER_NOTICE)
      this.#notify(ALL_NODES, {
        type: 'kept',
        from: this.#node,
        macs: macs.slice(start, start + MAX_MACS_PER_NOTICE),
      });
  }

  /** Tells the node that asked, which is not known here. */
  replied(frame: ReachResultFrame): void {
    this.#notify(ALL_NODES, { type: 'mac_reply', frame });
  }

  leasesLost(): void {
    this.#notify(ALL_NODES, { type: 'leases_lost', from: this.#node });
  }

  /** Resolves with the Macs of all nodes that respond within a second. */
  async boundMacs({ withStates, deviceId }: MacQuery): Promise<BoundMac[]> {
    const id = randomUUID();
    const all: BoundMac[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    let [results, expected] = [0, Infinity];
    this.#lists.set(id, (macs) => {
      // A node of an earlier version ignores `deviceId` and lists all Macs.
      for (const mac of macs) if (deviceId === undefined || mac.deviceId === deviceId) all.push(mac);
      if (++results >= expected) resolve();
    });
    const cancel = this.#clock.after(LIST_TIMEOUT_MS, () => afterReading(resolve));
    try {
      expected = await this.#publish(ALL_NODES, {
        type: 'list',
        id,
        from: this.#node,
        withStates,
        deviceId,
      });
      if (results < expected) await promise;
    } finally {
      cancel();
      this.#lists.delete(id);
    }
    return all;
  }

  #receive(sealed: Buffer): void {
    const message = this.#cipher.open(sealed);
    if (message === undefined) {
      if (this.#forged++ % 1000 === 0)
        this.#log.warn(
          { event: 'switchboard.bus_message_rejected', count: this.#forged },
          'bus message rejected: not sealed with the node secret',
        );
      return;
    }
    switch (message.type) {
      case 'write':
        return void this.#write(message);
      case 'write_result':
        return this.#writes.get(message.id)?.(message.result);
      case 'disconnect':
        return this.#handler.onDisconnect(message);
      case 'take_over':
        return message.from === this.#node ? undefined : this.#handOver(message);
      case 'handed_over':
        return this.#takeOvers.get(message.id)?.(message);
      case 'taken':
        return this.#handler.frames.onTaken(message);
      case 'kept':
        return message.from === this.#node ? undefined : this.#handler.frames.onKept(message);
      case 'offer': {
        const { id, from } = message;
        if (from === this.#node || !this.#handler.isStaying()) return;
        return this.#notify(channelOf(from), { type: 'offer_accepted', id, node: this.#node });
      }
      case 'offer_accepted':
        return this.#offers.get(message.id)?.(message.node);
      case 'adopt':
        return this.#handler.frames.onAdopt(message);
      case 'copy':
        return message.from === this.#node ? undefined : this.#handler.frames.onCopy(message);
      case 'copy_request':
        return this.#handler.frames.onCopyRequest(message);
      case 'confirmed':
        return this.#handler.frames.onConfirmed(message);
      case 'settle':
        return void this.#endOwnCalls(message);
      case 'settled':
        return this.#endings.get(message.id)?.(message);
      case 'status_of':
        return message.from === this.#node ? undefined : void this.#answer(message);
      case 'status':
        return this.#questions.get(message.id)?.(message.known);
      case 'leases_lost':
        return message.from === this.#node ? undefined : this.#handler.onLeasesLost();
      case 'mac_reply':
        return this.#handler.onMacReply(message.frame);
      case 'list': {
        const { id, from } = message;
        const macs = this.#handler.localMacs(message);
        return this.#notify(channelOf(from), { type: 'list_result', id, macs });
      }
      case 'list_result':
        return this.#lists.get(message.id)?.(message.macs);
    }
  }

  async #write(request: WriteRequest): Promise<void> {
    const result = await this.#handler.onWrite(request);
    this.#notify(channelOf(request.from), { type: 'write_result', id: request.id, result });
  }

  async #endOwnCalls(request: EndCallsRequest): Promise<void> {
    const ended = await this.#handler.onEndCalls(request);
    this.#notify(channelOf(request.from), { type: 'settled', id: request.id, ...ended });
  }

  async #answer(question: StatusQuestion): Promise<void> {
    const known = await this.#handler.onStatusQuestion(question);
    this.#notify(channelOf(question.from), { type: 'status', id: question.id, known });
  }

  #handOver(request: TakeOverRequest): void {
    const { id, from } = request;
    const parts = partsOf(this.#handler.onTakeOver(request));
    for (const [index, frames] of parts.entries())
      this.#notify(channelOf(from), {
        type: 'handed_over',
        id,
        node: this.#node,
        frames,
        isLast: index === parts.length - 1,
      });
  }

  #taken(from: string, mac: MacName, frames: readonly HandedFrame[]): void {
    if (frames.length > 0)
      this.#notify(channelOf(from), { type: 'taken', ...mac, requestIds: requestIdsOf(frames) });
  }

  #publish(channel: string, message: BusMessage): Promise<number> {
    return this.#redis.publish(channel, this.#cipher.seal(message));
  }

  #notify(channel: string, message: BusMessage): void {
    this.#publish(channel, message).catch((error: unknown) =>
      this.#log.debug(
        { event: 'switchboard.bus_message_lost', err: error, type: message.type },
        'bus message not published',
      ),
    );
  }
}

/** At least one part, which may be empty. */
function partsOf(frames: readonly HandedFrame[]): HandedFrame[][] {
  let part: HandedFrame[] = [];
  const parts = [part];
  let bytes = 0;
  for (const frame of frames) {
    if (bytes > 0 && bytes + frame.bytes > MAX_PART_BYTES) {
      part = [];
      parts.push(part);
      bytes = 0;
    }
    part.push(frame);
    bytes += frame.bytes;
  }
  return parts;
}

const ALL_NODES = 'nodes';
const channelOf = (node: string) => `node:${node}`;
