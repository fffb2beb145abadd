import {
  MAX_FRAME_BYTES,
  parseMacFrame,
  parseServiceFrame,
  SUBPROTOCOL,
  writeFrame,
} from '@footbridge/protocol/frames';
import type {
  AckFrame,
  RegisteredFrame,
  RegisterFrame,
  RequestNames,
  SendFrame,
  ServiceFrame,
} from '@footbridge/protocol/frames';
import { parseRetryAfter } from '@footbridge/protocol/retry-after';
import { WebSocket } from 'ws';

import type { Clock } from '../../clock.ts';
import type { Failpoint } from '../../failpoint.ts';
import type { Log } from '../../log.ts';
import type { Outbox } from '../../ports/journal/journal.ts';
import type { Ended } from './after-close.ts';

export interface SessionParts {
  /** Base address of the service, http or https. */
  readonly url: string;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly log: Log;
  readonly failpoint: Failpoint;
  readonly registration: () => RegisterFrame;
  readonly onRegistered: (frame: RegisteredFrame) => void;
  readonly onSend: (frame: SendFrame) => void;
  /** A request that cannot be read, except for its names. */
  readonly onUnreadable: (request: RequestNames, reason: string) => void;
  /** A frame of a later version, or one that cannot be read. */
  readonly onIgnored: () => void;
  readonly settings: SessionSettings;
}

export interface SessionSettings {
  /** How often the service pings; three of them missed end the connection. */
  readonly heartbeatMs: number;
  readonly connectTimeoutMs: number;
}

const MISSED_PINGS = 3;
const CLOSE_WITHIN_MS = 1_000;

/** One connection, from the upgrade to its end. */
export class Session {
  readonly ended: Promise<Ended>;
  readonly #parts: SessionParts;
  readonly #socket: WebSocket;
  readonly #inFlight = new Map<number, number>();
  #settle: (ended: Ended) => void = () => {};
  #watchdog = new AbortController();
  #window = 0;
  #lastSeq = 0;
  #refusal: Ended | undefined;

  constructor(parts: SessionParts, token: string) {
    this.#parts = parts;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#socket = new WebSocket(socketUrl(parts.url), [SUBPROTOCOL], {
      headers: { authorization: `Bearer ${token}` },
      handshakeTimeout: parts.settings.connectTimeoutMs,
      maxPayload: MAX_FRAME_BYTES,
      perMessageDeflate: false,
      followRedirects: false,
    });
    this.#listen();
  }

  /** Ends the connection from this side. */
  end(how: 'silent' | 'woke' | 'stopped'): void {
    this.#finish({ how });
    if (how === 'stopped' && this.#socket.readyState === WebSocket.OPEN) {
      this.#socket.close(1000);
      setTimeout(() => this.#socket.terminate(), CLOSE_WITHIN_MS).unref();
    } else {
      this.#socket.terminate();
    }
  }

  /** Sends what waits in the outbox, oldest first, as far as the window allows. */
  pump(): void {
    const { outbox, failpoint } = this.#parts;
    while (this.#inFlight.size < this.#window && this.#socket.readyState === WebSocket.OPEN) {
      const [entry] = outbox.unacknowledged(this.#lastSeq, 1);
      if (entry === undefined) return;
      this.#lastSeq = entry.seq;
      const bytes = Buffer.byteLength(entry.text);
      const fault = faultOf(entry.text, bytes);
      if (fault === undefined) {
        this.#inFlight.set(entry.seq, bytes);
        this.#socket.send(entry.text);
        failpoint('frame.sent');
      } else {
        this.#setAside(entry.seq, fault);
      }
    }
  }

  /** The service closed because of a frame that is too large for it: the largest under way must be the one. */
  setAsideLargest(): void {
    let largest: [seq: number, bytes: number] | undefined;
    for (const frame of this.#inFlight) if (largest === undefined || frame[1] > largest[1]) largest = frame;
    if (largest !== undefined) this.#setAside(largest[0], 'the service says it is too large');
  }

  #listen(): void {
    const socket = this.#socket;
    socket.on('open', () => {
      this.#watch();
      socket.send(writeFrame(this.#parts.registration()));
    });
    socket.on('ping', () => this.#watch());
    socket.on('message', (data, isBinary) => {
      if (!isBinary && Buffer.isBuffer(data)) this.#receive(data.toString());
    });
    socket.on('unexpected-response', (request, response) => {
      this.#refusal = {
        how: 'refused',
        status: response.statusCode ?? 0,
        retryAfterMs: parseRetryAfter(response.headers['retry-after'], Date.now()),
      };
      response.resume();
      request.destroy();
      this.#finish(this.#refusal);
    });
    socket.on('error', (error) => {
      const code = 'code' in error && typeof error.code === 'string' ? error.code : error.message;
      if (socket.readyState === WebSocket.CONNECTING) this.#finish({ how: 'unreachable', detail: code });
    });
    socket.on('close', (code, reason) => {
      this.#finish(this.#refusal ?? { how: 'closed', code, reason: reason.toString() });
    });
  }

  #receive(text: string): void {
    const { log, onIgnored } = this.#parts;
    const parsed = parseServiceFrame(text);
    if (parsed.kind === 'unknown') {
      onIgnored();
      log.debug({ type: parsed.type }, 'a frame of an unknown type was ignored');
      return;
    }
    try {
      if (parsed.kind === 'frame') this.#obey(parsed.frame);
      else this.#refuse(parsed);
    } catch (error) {
      // The journal could not be written. Nothing was promised yet: the connection ends and is tried again later.
      log.error({ err: error }, 'a frame could not be kept; the connection is dropped');
      this.#socket.close(1011);
    }
  }

  #obey(frame: ServiceFrame): void {
    if (frame.type === 'send') this.#parts.onSend(frame);
    else if (frame.type === 'ack') this.#acknowledge(frame);
    else if (frame.type === 'redeliver') this.#redeliver(frame.seq);
    else this.#registered(frame);
  }

  /** Of a request that cannot be read the CRM is told; anything else is only counted. */
  #refuse({ reason, request }: { reason: string; request?: RequestNames }): void {
    const { log, onIgnored, onUnreadable } = this.#parts;
    log.warn({ reason, requestId: request?.requestId }, 'the service sent a frame that cannot be read');
    if (request === undefined) onIgnored();
    else onUnreadable(request, reason);
  }

  #registered(frame: RegisteredFrame): void {
    this.#window = frame.window;
    this.#parts.onRegistered(frame);
    this.pump();
  }

  #acknowledge({ seq, outcome, reason }: AckFrame): void {
    const { outbox, clock, log } = this.#parts;
    if (outcome === 'rejected') {
      const known = outbox.reject(seq, reason ?? 'no reason given', clock.now());
      if (known) log.warn({ seq, reason }, 'the CRM refused a frame for good; it is kept for 30 days');
    } else {
      outbox.acknowledge(seq);
    }
    this.#inFlight.delete(seq);
    this.pump();
  }

  #redeliver(seq: number): void {
    const { outbox, clock, log } = this.#parts;
    const again = outbox.redeliver(seq, clock.now());
    if (again === undefined) log.warn({ seq }, 'asked to deliver a frame again that is no longer kept');
    else log.info({ seq, again }, 'a rejected frame goes out again');
    this.pump();
  }

  #setAside(seq: number, reason: string): void {
    const { outbox, clock, log } = this.#parts;
    outbox.setAside(seq, reason, clock.now());
    this.#inFlight.delete(seq);
    log.error({ seq, reason }, 'a frame cannot be delivered and was set aside');
  }

  /** Until `registered` and between pings silence is allowed for three intervals. */
  #watch(): void {
    const { clock, settings } = this.#parts;
    this.#watchdog.abort();
    const { signal } = (this.#watchdog = new AbortController());
    void clock.sleep(settings.heartbeatMs * MISSED_PINGS, signal).then(() => {
      if (!signal.aborted) this.end('silent');
    });
  }

  #finish(ended: Ended): void {
    this.#watchdog.abort();
    this.#settle(ended);
  }
}

function faultOf(text: string, bytes: number): string | undefined {
  if (bytes > MAX_FRAME_BYTES) return `it has ${bytes} bytes, the channel carries ${MAX_FRAME_BYTES}`;
  const parsed = parseMacFrame(text);
  if (parsed.kind === 'frame') return undefined;
  return parsed.kind === 'invalid' ? parsed.reason : `its type ${parsed.type} is unknown`;
}

function socketUrl(url: string): string {
  return `${url.replace(/\/+$/, '').replace(/^http/, 'ws')}/mac/socket`;
}
