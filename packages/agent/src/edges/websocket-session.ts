import type { IncomingMessage } from 'node:http';
import { addAbortSignal } from 'node:stream';

import {
  CAPABILITY,
  MAX_FRAME_BYTES,
  parseServiceFrame,
  SUBPROTOCOL,
  writeFrame,
} from '@footbridge/protocol/frames';
import type { RegisterFrame, RequestNames, ServiceFrame } from '@footbridge/protocol/frames';
import { readObject } from '@footbridge/protocol/read-json';
import { parseRetryAfter } from '@footbridge/protocol/retry-after';
import type { Clock } from '@footbridge/runtime/clock';
import { errorCode } from '@footbridge/runtime/error-code';
import type { Log } from '@footbridge/runtime/log';
import { readBounded } from '@footbridge/runtime/read-bounded';
import { WebSocket } from 'ws';

import type { SessionEnd } from '../flows/link/after-close.ts';
import type { Session, SessionHandlers } from '../flows/link/session.ts';
import { jobKey } from '../flows/outbound/accept-request.ts';
import { outboundName } from '../suspects/suspects.ts';
import type { Suspects } from '../suspects/suspects.ts';

export interface WebSocketSessionDeps {
  /** Base address of the service, http or https. */
  readonly url: string;
  readonly token: string;
  readonly registration: () => RegisterFrame;
  readonly handlers: SessionHandlers;
  readonly suspects: Pick<Suspects, 'during' | 'isSetAside'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: SessionSettings;
}

export interface SessionSettings {
  /** Ping interval of the service. The session ends after three missed pings. */
  readonly heartbeatMs: number;
  readonly connectTimeoutMs: number;
}

const MAX_MISSED_PINGS = 3;
const CLOSE_TIMEOUT_MS = 1_000;
const MAX_REJECTION_BYTES = 16 * 1024;

/** One WebSocket connection to the service. */
export class WebSocketSession implements Session {
  readonly ended: Promise<SessionEnd>;
  readonly #deps: WebSocketSessionDeps;
  readonly #socket: WebSocket;
  #resolveEnded: (end: SessionEnd) => void = () => {};
  #heartbeat = new AbortController();

  constructor(deps: WebSocketSessionDeps) {
    this.#deps = deps;
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    this.#socket = new WebSocket(socketUrl(deps.url), [SUBPROTOCOL], {
      headers: { authorization: `Bearer ${deps.token}` },
      handshakeTimeout: deps.settings.connectTimeoutMs,
      maxPayload: MAX_FRAME_BYTES,
      perMessageDeflate: false,
      followRedirects: false,
    });
    this.#listen();
  }

  isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  send(text: string): void {
    this.#socket.send(text);
  }

  end(how: 'timeout' | 'woke' | 'stopped'): void {
    this.#finish({ how });
    if (how === 'stopped' && this.isOpen()) {
      this.#socket.close(1000);
      setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS).unref();
    } else {
      this.#socket.terminate();
    }
  }

  #listen(): void {
    const socket = this.#socket;
    socket.on('open', () => {
      this.#expectPing();
      const registration = this.#deps.registration();
      const capabilities = [...registration.capabilities, CAPABILITY.confirms, CAPABILITY.repliesToReach];
      socket.send(writeFrame({ ...registration, capabilities }));
    });
    socket.on('ping', () => this.#expectPing());
    socket.on('message', (data, isBinary) => {
      if (!isBinary && Buffer.isBuffer(data)) this.#receive(data.toString());
    });
    socket.on('unexpected-response', (request, response) => {
      const { clock, settings } = this.#deps;
      const retryAfterMs = parseRetryAfter(response.headers['retry-after'], clock.now());
      const status = response.statusCode ?? 0;
      void isFromService(response, settings.connectTimeoutMs).then((isOurs) => {
        this.#finish({ how: 'rejected', status, isFromService: isOurs, retryAfterMs });
        request.destroy();
      });
    });
    socket.on('error', (error) => {
      const detail = errorCode(error) ?? error.message;
      if (socket.readyState === WebSocket.CONNECTING) this.#finish({ how: 'unreachable', detail });
    });
    socket.on('close', (code, reason) => {
      this.#finish({ how: 'closed', code, reason: reason.toString() });
    });
  }

  #receive(text: string): void {
    const { suspects } = this.#deps;
    const request = requestIn(text);
    const name = request && outboundName(jobKey(request));
    if (request !== undefined && name !== undefined && suspects.isSetAside(name))
      this.#handle(() => this.#setAside(request));
    else if (name === undefined) this.#read(text);
    else suspects.during(name, () => this.#read(text));
  }

  #setAside(request: RequestNames): void {
    this.#deps.handlers.onSetAside(request);
    this.#confirm(request);
  }

  #read(text: string): void {
    const { log, handlers } = this.#deps;
    const parsed = parseServiceFrame(text);
    if (parsed.kind === 'unknown') {
      handlers.onIgnored();
      log.debug({ event: 'link.frame_ignored', type: parsed.type }, 'frame of unknown type ignored');
      return;
    }
    this.#handle(() => (parsed.kind === 'frame' ? this.#dispatch(parsed.frame) : this.#reject(parsed)));
  }

  #handle(handle: () => void): void {
    const { log } = this.#deps;
    try {
      handle();
    } catch (error) {
      // The journal is not writable, and the frame was not confirmed. The service sends it again after the reconnect.
      log.error({ event: 'link.frame_not_saved', err: error }, 'frame not saved, closing the connection');
      this.#socket.close(1011);
    }
  }

  #dispatch(frame: ServiceFrame): void {
    const { handlers } = this.#deps;
    if (frame.type === 'send') {
      handlers.onSend(frame);
      this.#confirm(frame);
    } else if (frame.type === 'ack') handlers.onAck(frame);
    else if (frame.type === 'redeliver' && typeof frame.messageId === 'string')
      handlers.onAllowed(frame.messageId);
    else if (frame.type === 'redeliver') handlers.onRedeliver(frame.seq);
    else if (frame.type === 'reach_request') handlers.onReachRequest(frame);
    else handlers.onRegistered(frame);
  }

  /** Reports a failure for an invalid request that names its ids. Other invalid frames are only counted. */
  #reject({ reason, request }: { reason: string; request?: RequestNames }): void {
    const { log, handlers } = this.#deps;
    log.warn(
      { event: 'link.frame_invalid', reason, requestId: request?.requestId },
      'invalid frame from the service',
    );
    if (request === undefined) return handlers.onIgnored();
    handlers.onInvalidSend(request, reason);
    this.#confirm(request);
  }

  /** Confirms that the request is in the journal, so that the service does not send it again. */
  #confirm({ requestId }: RequestNames): void {
    if (this.isOpen()) this.#socket.send(writeFrame({ type: 'received', requestId }));
  }

  /** Ends the session unless the next ping arrives within three intervals. */
  #expectPing(): void {
    const { clock, settings } = this.#deps;
    this.#heartbeat.abort();
    const { signal } = (this.#heartbeat = new AbortController());
    void clock.sleep(settings.heartbeatMs * MAX_MISSED_PINGS, signal).then(() => {
      if (!signal.aborted) this.end('timeout');
    });
  }

  /** Only the first call has an effect. */
  #finish(end: SessionEnd): void {
    this.#heartbeat.abort();
    this.#resolveEnded(end);
  }
}

/** How the service begins a `send` frame. */
const SEND =
  /^\{"type":"send","requestId":("(?:[^"\\]|\\.){1,256}"),"messageId":(null|"(?:[^"\\]|\\.){1,512}"),/;

/** Returns the ids of a request without parsing the rest of the frame, which may crash the agent (I10). */
function requestIn(text: string): RequestNames | undefined {
  const [, first = '""', second = '""'] = SEND.exec(text) ?? [];
  const { requestId, messageId } = readObject(`{"requestId":${first},"messageId":${second}}`);
  if (typeof requestId !== 'string' || requestId === '') return undefined;
  if (messageId === null) return { requestId, messageId };
  return typeof messageId === 'string' ? { requestId, messageId } : undefined;
}

/** The service rejects an upgrade with JSON that has a `code`, or with an empty body. Any other body is the page of a proxy or a captive portal. */
async function isFromService(response: IncomingMessage, timeoutMs: number): Promise<boolean> {
  try {
    addAbortSignal(AbortSignal.timeout(timeoutMs), response);
    const body = await readBounded(response, MAX_REJECTION_BYTES);
    return body?.length === 0 || typeof readObject(String(body))['code'] === 'string';
  } catch {
    return false;
  }
}

function socketUrl(url: string): string {
  return `${url.replace(/\/+$/, '').replace(/^http/, 'ws')}/mac/socket`;
}
