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
  /** `null` offers none. */
  subprotocol?: string | null;
  headers?: Record<string, string>;
  answerPings?: boolean;
  /** The first number for frames sent; give the last session's `mac.seq` to go on after a reconnect. */
  seq?: number;
}

export interface Closed {
  code: number;
  reason: string;
}

export type Received = Partial<MessageReceivedFrame> & { sender: string };
export type Status = Pick<MessageStatusFrame, 'requestId' | 'status'> & Partial<MessageStatusFrame>;

/** The service answered the upgrade with plain HTTP. */
export class UpgradeRefused extends Error {
  override readonly name = 'UpgradeRefused';
  readonly status: number;
  readonly body: string;

  constructor(status: number, body: string) {
    super(`The socket was refused with ${status}: ${body}`);
    this.status = status;
    this.body = body;
  }
}

/** The connection ended while a test was waiting for something on it. */
export class SocketClosed extends Error {
  override readonly name = 'SocketClosed';
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

/** Opens the socket; rejects with `UpgradeRefused` when the service does not want it. */
export async function connectMac(url: string, options: MacOptions): Promise<Mac> {
  const { token, subprotocol = SUBPROTOCOL, headers = {}, answerPings = true, seq = 1 } = options;
  const address = new URL('/mac/socket', url.replace(/^http/, 'ws'));
  const socket = new WebSocket(address, subprotocol === null ? [] : [subprotocol], {
    headers: { Authorization: `Bearer ${token}`, ...headers },
    perMessageDeflate: false,
    autoPong: answerPings,
  });
  // Built before the first byte arrives: a frame right behind the upgrade must not be missed.
  const mac = new Mac(socket, seq);
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
    socket.once('unexpected-response', (_request, response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => {
        reject(new UpgradeRefused(response.statusCode ?? 0, Buffer.concat(parts).toString()));
        socket.terminate();
      });
    });
  });
  return mac;
}

/** Activates, connects and registers: a Mac in service. */
export async function joinMac(
  url: string,
  given: Activation & { locationId: string; answerPings?: boolean },
): Promise<Mac> {
  const { status, body, deviceToken } = await activate(url, given);
  if (deviceToken === undefined) {
    throw new Error(`Activation was refused with ${status}: ${JSON.stringify(body)}`);
  }
  const mac = await connectMac(url, { token: deviceToken, answerPings: given.answerPings ?? true });
  await mac.register(given.locationId);
  return mac;
}

/** A Mac that does exactly what a test tells it to, and nothing by itself. */
export class Mac {
  /** Everything the service sent that is a frame of the protocol, in order. */
  readonly frames: ServiceFrame[] = [];
  /** Everything else. */
  readonly strange: string[] = [];
  readonly closed: Promise<Closed>;
  pings = 0;
  /** The number the next frame will get. */
  seq: number;
  readonly #socket: WebSocket;
  readonly #unread: ServiceFrame[] = [];
  #waiting: (() => void)[] = [];
  #ended: Closed | undefined;
  #delivers = false;

  constructor(socket: WebSocket, seq: number) {
    this.seq = seq;
    this.#socket = socket;
    this.closed = new Promise((resolve) => {
      socket.on('close', (code, reason) => {
        this.#ended = { code, reason: reason.toString() };
        resolve(this.#ended);
        this.#wake();
      });
    });
    socket.on('error', () => {
      // 'close' follows and says what a test may want to know.
    });
    socket.on('ping', () => this.pings++);
    socket.on('message', (data: Buffer) => this.#take(data.toString()));
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  /** Rejects with `SocketClosed` when the service closes instead. */
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

  /** The next frame of that type nobody has taken yet. */
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

  /** The answer to one frame of ours, whatever came in between. */
  ack(seq: number, timeout?: number): Promise<AckFrame> {
    const isIt = (frame: ServiceFrame): frame is AckFrame => frame.type === 'ack' && frame.seq === seq;
    return this.#next(isIt, `the ack of ${seq}`, timeout);
  }

  /** Fails when such a frame arrives within that time. */
  async noFrame(type: ServiceFrame['type'], forMs: number): Promise<void> {
    const end = performance.now() + forMs;
    for (let left = forMs; left > 0; left = end - performance.now()) {
      const found = this.#unread.find((frame) => frame.type === type);
      if (found) throw new Error(`Unexpected: ${JSON.stringify(found)}`);
      await this.#change(left);
    }
  }

  /** Sends `message_status` and gives its number. */
  status(frame: Status): number {
    const seq = this.seq++;
    this.send({ type: 'message_status', seq, messageId: null, ...frame });
    return seq;
  }

  /** Sends `message_received`, a plain text from that sender unless told more, and gives its number. */
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

  /** From now on every `send` is reported delivered. */
  deliverAll(): void {
    this.#delivers = true;
  }

  /** Any object, also one that is no frame. */
  send(frame: object): void {
    this.sendRaw(JSON.stringify(frame));
  }

  /** Text goes as a text frame, bytes as a binary one. */
  sendRaw(data: string | Uint8Array): void {
    this.#socket.send(data, { binary: typeof data !== 'string' });
  }

  /** Stops reading the socket: pings stay unanswered and the service's writes pile up. */
  pauseReading(): void {
    this.#socket.pause();
  }

  resumeReading(): void {
    this.#socket.resume();
  }

  /** Gone without a close frame, like a Mac whose lid was shut. */
  terminate(): void {
    this.#socket.terminate();
  }

  close(code = 1000, reason = ''): Promise<Closed> {
    this.#socket.close(code, reason);
    return this.closed;
  }

  #take(text: string): void {
    const parsed = parseServiceFrame(text);
    if (parsed.kind === 'frame') {
      this.frames.push(parsed.frame);
      this.#unread.push(parsed.frame);
      if (this.#delivers && parsed.frame.type === 'send') this.#deliver(parsed.frame);
    } else {
      this.strange.push(text);
    }
    this.#wake();
  }

  #deliver({ requestId, messageId }: SendFrame): void {
    this.status({ requestId, messageId, status: 'delivered', guid: randomUUID().toUpperCase() });
  }

  async #next<F extends ServiceFrame>(
    isIt: (frame: ServiceFrame) => frame is F,
    what: string,
    timeout = 60_000,
  ): Promise<F> {
    const end = performance.now() + timeout;
    for (;;) {
      const at = this.#unread.findIndex(isIt);
      const found = this.#unread[at];
      if (found && isIt(found)) {
        this.#unread.splice(at, 1);
        return found;
      }
      if (this.#ended) throw new SocketClosed(this.#ended, what);
      const left = end - performance.now();
      if (left <= 0) throw new Error(`No ${what} from the service within ${timeout} ms.`);
      await this.#change(left);
    }
  }

  /** Until something happened on the socket, or the time is over. */
  async #change(within: number): Promise<void> {
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
