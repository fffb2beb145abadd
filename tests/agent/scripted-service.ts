import { sendFrame } from '@footbridge/testkit/send-frame';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

import { parseMacFrame, SUBPROTOCOL, writeFrame } from '@footbridge/protocol/frames';
import type {
  AckFrame,
  MacFrame,
  MessageReceivedFrame,
  MessageStatusFrame,
  ReachResultFrame,
  RegisterFrame,
  SendFrame,
  StateFrame,
} from '@footbridge/protocol/frames';
import { listen } from '@footbridge/testkit/loopback';
import { until } from '@footbridge/testkit/until';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';

export interface Asset {
  readonly name: string;
  readonly mime: string;
  readonly bytes: Buffer;
  readonly url: string;
}

/** A frame that was sent or that arrived, or the end of a connection. */
export interface LinkEvent {
  readonly at: number;
  readonly what: 'sent' | 'arrived' | 'connected' | 'disconnected';
  readonly type?: string;
  readonly requestId?: string;
  readonly seq?: number;
}

interface Response {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: object;
}

interface Rejection {
  readonly status: number;
  readonly headers?: Record<string, string>;
  /** The body that a proxy sends. The service sends JSON with a code. */
  readonly page?: string;
}

/** A service whose responses and frames the test controls. */
export class ScriptedService {
  readonly #http: Server;
  readonly #sockets = new WebSocketServer({ noServer: true });
  #connections: WebSocket[] = [];
  #requests = 0;

  /** Responses to `/mac/activate` and `/mac/pair`, in order. The last one is repeated. */
  activations: Response[] = [{ status: 201, body: { seats: { used: 1, max: 3 } } }];
  readonly activated: Record<string, unknown>[] = [];
  /** Valid tokens. */
  readonly tokens = new Set<string>();
  /** Responses to the next upgrade requests. After these, upgrades are accepted. */
  upgradeRejections: Rejection[] = [];
  /** Statuses for the next uploads. After these, uploads are accepted. */
  assetRejections: number[] = [];
  readonly assets: Asset[] = [];
  /** Its clock. Undefined: it does not say the time. */
  time: () => number | undefined = Date.now;
  autoRegister = true;
  autoAck = true;
  window = 64;
  /** Whether it accepts the messages that the owner types. */
  mirror = true;

  readonly registrations: RegisterFrame[] = [];
  readonly statuses: MessageStatusFrame[] = [];
  readonly received: MessageReceivedFrame[] = [];
  /** When each of them arrived. */
  readonly receivedAt: number[] = [];
  /** The `requestId` of every `received` frame. */
  readonly confirmed: string[] = [];
  readonly states: StateFrame[] = [];
  readonly reachResults: ReachResultFrame[] = [];
  /** The `seq` of every frame in order of arrival, including repeats. */
  readonly seqs: number[] = [];
  readonly invalid: string[] = [];
  /** What happened on the connections, oldest first. */
  readonly history: LinkEvent[] = [];
  readonly unacked = new Set<number>();
  maxUnacked = 0;

  constructor() {
    this.#http = createServer((request, response) => {
      void this.#answer(request, response);
    });
    this.#http.on('upgrade', (request, socket, head) => {
      const rejection = this.#rejectionOf(request);
      if (rejection !== undefined) {
        const headers = Object.entries(rejection.headers ?? {}).map(
          ([name, value]) => `${name}: ${value}\r\n`,
        );
        const body = rejection.page ?? '{"code":"CODE"}';
        socket.end(
          `HTTP/1.1 ${rejection.status} No\r\n${headers.join('')}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
        );
        return;
      }
      this.#sockets.handleUpgrade(request, socket, head, (ws) => this.#welcome(ws));
    });
  }

  async start(port = 0): Promise<this> {
    await listen(this.#http, port);
    return this;
  }

  get port(): number {
    const address = this.#http.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get connected(): number {
    return this.#connections.length;
  }

  async stop(): Promise<void> {
    for (const socket of this.#connections) socket.terminate();
    this.#http.close();
    this.#http.closeAllConnections();
    if (this.#http.listening) await once(this.#http, 'close');
  }

  /** Resolves with the pong to a ping: by then the agent has handled all earlier frames and its own have arrived. */
  async settled(): Promise<void> {
    const socket = this.#connections.at(-1);
    if (socket === undefined) throw new Error('no Mac is connected');
    socket.ping();
    await Promise.race([
      once(socket, 'pong'),
      once(socket, 'close').then(() =>
        Promise.reject(new Error('the Mac disconnected instead of sending a pong')),
      ),
    ]);
  }

  /** Sends a `send` frame and returns it. Other fields have defaults; the phone is that of the first simulated person. */
  send(over: Partial<SendFrame> = {}): SendFrame {
    this.#requests += 1;
    const frame = sendFrame({
      requestId: `request-${this.#requests}`,
      messageId: `message-${this.#requests}`,
      phone: '+15550100001',
      ...over,
    });
    this.#sendFrame(frame);
    return frame;
  }

  /** Sends a request again unless the agent has confirmed it, as the service does after a reconnect (M10). Returns whether it did. */
  resendUnconfirmed(frame: SendFrame): boolean {
    const isUnconfirmed = !this.confirmed.includes(frame.requestId);
    if (isUnconfirmed) this.#sendFrame({ ...frame, again: true });
    return isUnconfirmed;
  }

  write(text: string): void {
    const socket = this.#connections.at(-1);
    if (socket === undefined) throw new Error('no Mac is connected');
    socket.send(text);
  }

  ack(seq: number, outcome: AckFrame['outcome'] = 'delivered', reason?: string): void {
    this.unacked.delete(seq);
    this.write(writeFrame({ type: 'ack', seq, outcome, ...(reason === undefined ? {} : { reason }) }));
  }

  redeliver(seq: number): void {
    this.write(writeFrame({ type: 'redeliver', seq }));
  }

  /** Sends a `reach_request` and resolves with the reply. */
  reachOf(phone: string): Promise<ReachResultFrame> {
    this.#requests += 1;
    const requestId = `reach-${this.#requests}`;
    this.write(writeFrame({ type: 'reach_request', requestId, phone }));
    return until(() => this.reachResults.find((frame) => frame.requestId === requestId), {
      what: 'a reach result',
    });
  }

  close(code: number, reason = ''): void {
    for (const socket of this.#connections) socket.close(code, reason);
  }

  /** Terminates the connections without a close frame. */
  cut(): void {
    for (const socket of this.#connections) socket.terminate();
  }

  statusOf(requestId: string): Promise<MessageStatusFrame> {
    return until(() => this.statuses.find((frame) => frame.requestId === requestId), {
      what: `a status for ${requestId}`,
    });
  }

  messageOf(guid: string): Promise<MessageReceivedFrame> {
    return until(() => this.received.find((frame) => frame.guid === guid), {
      what: `message ${guid}`,
    });
  }

  registered(times = 1): Promise<unknown> {
    return until(() => this.registrations.length >= times && this.connected > 0, {
      what: `registration ${times}`,
    });
  }

  #sendFrame(frame: SendFrame): void {
    this.write(writeFrame(frame));
    this.#record('sent', frame);
  }

  #record(what: LinkEvent['what'], frame?: MacFrame | SendFrame): void {
    const { type, requestId, seq } = (frame ?? {}) as Partial<LinkEvent>;
    this.history.push({
      at: Date.now(),
      what,
      ...(type !== undefined && { type }),
      ...(requestId !== undefined && { requestId }),
      ...(seq !== undefined && { seq }),
    });
  }

  #rejectionOf(request: IncomingMessage): Rejection | undefined {
    const scripted = this.upgradeRejections.shift();
    if (scripted !== undefined) return scripted;
    if (request.url !== '/mac/socket') return { status: 404 };
    if (request.headers['sec-websocket-protocol'] !== SUBPROTOCOL) return { status: 426 };
    const token = request.headers.authorization?.replace('Bearer ', '');
    return token !== undefined && this.tokens.has(token) ? undefined : { status: 401 };
  }

  #welcome(socket: WebSocket): void {
    this.#connections.push(socket);
    this.unacked.clear();
    this.#record('connected');
    socket.on('message', (data: Buffer) => this.#hear(socket, data.toString()));
    socket.on('close', () => {
      this.#connections = this.#connections.filter((other) => other !== socket);
      this.#record('disconnected');
    });
  }

  #hear(socket: WebSocket, text: string): void {
    const parsed = parseMacFrame(text);
    if (parsed.kind !== 'frame') {
      this.invalid.push(text);
      return;
    }
    this.#record('arrived', parsed.frame);
    this.#keep(parsed.frame);
    if (parsed.frame.type === 'register') {
      if (!this.autoRegister) return;
      const { locationId } = parsed.frame;
      const sessionId = `session-${this.registrations.length}`;
      socket.send(
        writeFrame({ type: 'registered', locationId, sessionId, window: this.window, mirror: this.mirror }),
      );
    } else if ('seq' in parsed.frame && this.autoAck) {
      this.unacked.delete(parsed.frame.seq);
      socket.send(writeFrame({ type: 'ack', seq: parsed.frame.seq, outcome: 'delivered' }));
    }
  }

  #keep(frame: MacFrame): void {
    if (frame.type === 'register') {
      this.registrations.push(frame);
      return;
    }
    if (frame.type === 'received') {
      this.confirmed.push(frame.requestId);
      return;
    }
    if (frame.type === 'state') {
      this.states.push(frame);
      return;
    }
    if (frame.type === 'reach_result') {
      this.reachResults.push(frame);
      return;
    }
    this.seqs.push(frame.seq);
    this.unacked.add(frame.seq);
    this.maxUnacked = Math.max(this.maxUnacked, this.unacked.size);
    if (frame.type === 'message_status') this.statuses.push(frame);
    else {
      this.received.push(frame);
      this.receivedAt.push(Date.now());
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const { status, headers, body } = this.#respond(request, bytes);
    const time = this.time();
    response.sendDate = false;
    response.writeHead(status, {
      'content-type': 'application/json',
      ...(time !== undefined && { date: new Date(time).toUTCString() }),
      ...headers,
    });
    response.end(body === undefined ? undefined : JSON.stringify(body));
  }

  #respond(request: IncomingMessage, bytes: Buffer): Response {
    if (request.url === '/health') return { status: 200, body: { status: 'ok' } };
    if (request.url === '/mac/activate' || request.url === '/mac/pair') return this.#activate(bytes);
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    if (!this.tokens.has(token)) return { status: 401, body: { code: 'UNAUTHORIZED' } };
    if (request.url === '/mac/deactivate') {
      this.tokens.delete(token);
      return { status: 204 };
    }
    if (request.url !== '/mac/assets') return { status: 404 };
    const rejection = this.assetRejections.shift();
    if (rejection !== undefined) return { status: rejection, body: {} };
    const name = decodeURIComponent(String(request.headers['x-file-name']));
    const url = `https://assets.example.com/${this.assets.length}/${encodeURIComponent(name)}`;
    this.assets.push({ name, mime: String(request.headers['content-type']), bytes, url });
    return { status: 201, body: { url } };
  }

  #activate(bytes: Buffer): Response {
    const told: unknown = JSON.parse(bytes.toString());
    this.activated.push(typeof told === 'object' && told !== null ? { ...told } : {});
    const [next] = this.activations;
    if (this.activations.length > 1) this.activations.shift();
    if (next === undefined || next.status > 299) return next ?? { status: 500, body: {} };
    const deviceToken = `token-${this.activated.length}`;
    this.tokens.clear();
    this.tokens.add(deviceToken);
    return { status: next.status, body: { deviceToken, ...next.body } };
  }
}
