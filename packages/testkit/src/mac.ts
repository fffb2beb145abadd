import { randomUUID } from 'node:crypto';
import { parseServiceFrame, SUBPROTOCOL } from '@footbridge/protocol/frames';
import type {
  AckFrame,
  MessageReceivedFrame,
  MessageStatusFrame,
  RegisteredFrame,
  RegisterFrame,
  SendFrame,
  ServiceFrame,
} from '@footbridge/protocol/frames';
import { WebSocket } from 'ws';

export interface Activation {
  licenseKey: string;
  deviceId?: string;
  name?: string;
  osVersion?: string;
  appVersion?: string;
}

export interface Activated {
  status: number;
  body: Record<string, unknown>;
  deviceId: string;
  deviceToken: string | undefined;
}

export interface MacOptions {
  token: string;
  /** `null` offers no subprotocol. */
  subprotocol?: string | null;
  headers?: Record<string, string>;
  answerPings?: boolean;
  /** The sequence number of the first frame. Pass `mac.seq` of the last session after a reconnect. */
  seq?: number;
}

export interface Closed {
  code: number;
  reason: string;
}

export type Received = Partial<MessageReceivedFrame> & { sender: string };
export type Status = Pick<MessageStatusFrame, 'requestId' | 'status'> & Partial<MessageStatusFrame>;

/** The service rejected the WebSocket upgrade with an HTTP response. */
export class UpgradeError extends Error {
  override readonly name = 'UpgradeError';
  readonly status: number;
  readonly body: string;

  constructor(status: number, body: string) {
    super(`The upgrade was rejected with ${status}: ${body}`);
    this.status = status;
    this.body = body;
  }
}

/** The socket was closed while a test was waiting for a frame. */
export class SocketClosedError extends Error {
  override readonly name = 'SocketClosedError';
  readonly code: number;
  readonly reason: string;

  constructor({ code, reason }: Closed, waitingFor: string) {
    super(`The socket was closed with ${code} ${reason} while waiting for ${waitingFor}.`);
    this.code = code;
    this.reason = reason;
  }
}

export async function activate(url: string, given: Activation): Promise<Activated> {
  const {
    deviceId = `mac-${randomUUID()}`,
    name = 'Test Mac',
    osVersion = '26.1',
    appVersion = '0.1.0',
  } = given;
  const response = await fetch(new URL('/mac/activate', url), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ licenseKey: given.licenseKey, deviceId, name, osVersion, appVersion }),
  });
  const body: Record<string, unknown> = JSON.parse(await response.text());
  const token = body['deviceToken'];
  return {
    status: response.status,
    body,
    deviceId,
    deviceToken: typeof token === 'string' ? token : undefined,
  };
}

/** Opens the socket. Rejects with `UpgradeError` if the service rejects the upgrade. */
export async function connectMac(url: string, options: MacOptions): Promise<Mac> {
  const { token, subprotocol = SUBPROTOCOL, headers = {}, answerPings = true, seq = 1 } = options;
  const address = new URL('/mac/socket', url.replace(/^http/, 'ws'));
  const socket = new WebSocket(address, subprotocol === null ? [] : [subprotocol], {
    headers: { Authorization: `Bearer ${token}`, ...headers },
    perMessageDeflate: false,
    autoPong: answerPings,
  });
  // Created before the upgrade completes, so that a frame right after it is not missed.
  const mac = new Mac(socket, seq);
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
    socket.once('unexpected-response', (_request, response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => {
        reject(new UpgradeError(response.statusCode ?? 0, Buffer.concat(parts).toString()));
        socket.terminate();
      });
    });
  });
  return mac;
}

/** Activates, connects and registers a Mac. */
export async function joinMac(
  url: string,
  given: Activation & { locationId: string; answerPings?: boolean },
): Promise<Mac> {
  const { status, body, deviceToken } = await activate(url, given);
  if (deviceToken === undefined) {
    throw new Error(`The activation was rejected with ${status}: ${JSON.stringify(body)}`);
  }
  const mac = await connectMac(url, { token: deviceToken, answerPings: given.answerPings ?? true });
  await mac.register(given.locationId);
  return mac;
}

/** A scripted Mac: it sends only what the test tells it to. */
export class Mac {
  /** All valid frames from the service, in order. */
  readonly frames: ServiceFrame[] = [];
  /** All other messages from the service. */
  readonly unknownFrames: string[] = [];
  readonly closed: Promise<Closed>;
  pings = 0;
  /** If set, it gets every frame from the service, and none is kept: a load test receives millions. */
  onFrame: ((frame: ServiceFrame) => void) | undefined;
  /** The sequence number of the next frame. */
  seq: number;
  readonly #socket: WebSocket;
  readonly #unread: ServiceFrame[] = [];
  #waiting: (() => void)[] = [];
  #closed: Closed | undefined;
  #reportsDelivered = false;
  #confirmsAll = false;

  constructor(socket: WebSocket, seq: number) {
    this.seq = seq;
    this.#socket = socket;
    this.closed = new Promise((resolve) => {
      socket.on('close', (code, reason) => {
        this.#closed = { code, reason: reason.toString() };
        resolve(this.#closed);
        this.#wake();
      });
    });
    socket.on('error', () => {
      // 'close' follows and has the details.
    });
    socket.on('ping', () => this.pings++);
    socket.on('message', (data: Buffer) => this.#receive(data.toString()));
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  /** Rejects with `SocketClosedError` if the service closes the socket instead. */
  async register(locationId: string, more: Partial<RegisterFrame> = {}): Promise<RegisteredFrame> {
    this.send({
      type: 'register',
      locationId,
      agent: { version: '0.1.0' },
      os: { name: 'macOS', version: '26.1' },
      capabilities: [],
      ...more,
    });
    return this.nextFrame('registered');
  }

  /** Resolves to the next unread frame of that type. */
  nextFrame<T extends ServiceFrame['type']>(
    type: T,
    timeout?: number,
  ): Promise<Extract<ServiceFrame, { type: T }>> {
    return this.#next(
      (frame): frame is Extract<ServiceFrame, { type: T }> => frame.type === type,
      type,
      timeout,
    );
  }

  /** Resolves to the acknowledgement of one frame. Other frames stay unread. */
  ack(seq: number, timeout?: number): Promise<AckFrame> {
    const isAck = (frame: ServiceFrame): frame is AckFrame => frame.type === 'ack' && frame.seq === seq;
    return this.#next(isAck, `ack of ${seq}`, timeout);
  }

  /** Rejects if a frame of that type is unread or arrives within that time. */
  async noFrame(type: ServiceFrame['type'], forMs: number): Promise<void> {
    const end = performance.now() + forMs;
    for (let left = forMs; left > 0; left = end - performance.now()) {
      const found = this.#unread.find((frame) => frame.type === type);
      if (found) throw new Error(`Unexpected: ${JSON.stringify(found)}`);
      await this.#nextEvent(left);
    }
  }

  /** Sends a `message_status` frame and returns its sequence number. */
  status(frame: Status): number {
    const seq = this.seq++;
    this.send({ type: 'message_status', seq, messageId: null, ...frame });
    return seq;
  }

  /** Sends a `message_received` frame, by default an empty text, and returns its sequence number. */
  received(frame: Received): number {
    const seq = this.seq++;
    this.send({
      type: 'message_received',
      seq,
      guid: randomUUID().toUpperCase(),
      service: 'iMessage',
      text: '',
      sentAt: new Date().toISOString(),
      chat: { id: 1, isGroup: false, recipients: [frame.sender] },
      attachments: [],
      ...frame,
    });
    return seq;
  }

  /** Confirms a `send`. */
  confirm(requestId: string): void {
    this.send({ type: 'received', requestId });
  }

  /** From now on, confirms every `send`. A Mac that does lists `received` among its capabilities when it registers. */
  confirmAll(): void {
    this.#confirmsAll = true;
  }

  /** From now on, reports every `send` as delivered. */
  deliverAll(): void {
    this.#reportsDelivered = true;
  }

  /** Sends any object, even if it is not a valid frame. */
  send(frame: object): void {
    this.sendRaw(JSON.stringify(frame));
  }

  /** Pings the service. Resolves at the pong: every frame that the service wrote before it has arrived. */
  async roundTrip(): Promise<void> {
    const payload = randomUUID();
    await new Promise<void>((resolve, reject) => {
      const settle = (done: () => void) => {
        this.#socket.off('pong', pong).off('close', closed);
        done();
      };
      const pong = (data: Buffer) => {
        if (data.toString() === payload) settle(resolve);
      };
      const closed = () => settle(() => reject(new Error('The socket was closed while waiting for a pong.')));
      this.#socket.on('pong', pong).on('close', closed);
      this.#socket.ping(payload);
    });
  }

  /** Sends a string as a text frame and bytes as a binary frame. */
  sendRaw(data: string | Uint8Array): void {
    this.#socket.send(data, { binary: typeof data !== 'string' });
  }

  /** Stops reading from the socket: pings are not answered, and the service's writes back up. */
  pauseReading(): void {
    this.#socket.pause();
  }

  resumeReading(): void {
    this.#socket.resume();
  }

  /** Disconnects without a close frame, like a Mac that goes to sleep. */
  terminate(): void {
    this.#socket.terminate();
  }

  close(code = 1000, reason = ''): Promise<Closed> {
    this.#socket.close(code, reason);
    return this.closed;
  }

  #receive(text: string): void {
    const parsed = parseServiceFrame(text);
    if (parsed.kind === 'frame' && this.onFrame !== undefined) this.onFrame(parsed.frame);
    else if (parsed.kind === 'frame') {
      this.frames.push(parsed.frame);
      this.#unread.push(parsed.frame);
      if (this.#confirmsAll && parsed.frame.type === 'send') this.confirm(parsed.frame.requestId);
      if (this.#reportsDelivered && parsed.frame.type === 'send') this.#reportDelivered(parsed.frame);
    } else {
      this.unknownFrames.push(text);
    }
    this.#wake();
  }

  #reportDelivered({ requestId, messageId }: SendFrame): void {
    this.status({ requestId, messageId, status: 'delivered', guid: randomUUID().toUpperCase() });
  }

  async #next<F extends ServiceFrame>(
    matches: (frame: ServiceFrame) => frame is F,
    what: string,
    timeout = 60_000,
  ): Promise<F> {
    const end = performance.now() + timeout;
    for (;;) {
      const index = this.#unread.findIndex(matches);
      const found = this.#unread[index];
      if (found && matches(found)) {
        this.#unread.splice(index, 1);
        return found;
      }
      if (this.#closed) throw new SocketClosedError(this.#closed, what);
      const left = end - performance.now();
      if (left <= 0) throw new Error(`No ${what} from the service within ${timeout} ms.`);
      await this.#nextEvent(left);
    }
  }

  /** Resolves on the next frame, on close, or after the timeout. */
  async #nextEvent(within: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, within);
      this.#waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}
