import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

import { closeHttp, listen } from '@footbridge/testkit/loopback';

/** A fault of the sample CRM. Each one is a mistake that integrators make. */
export type CrmFault =
  | 'signs a different serialisation of the body'
  | 'signs in hex'
  | 'signs in the URL-safe alphabet'
  | 'uses removed field names'
  | 'sends a form content type'
  | 'gives up after 503'
  | 'retries with a new messageId'
  | 'retries after 400'
  | 'ignores Retry-After'
  | 'drops the footer'
  | 'loses emoji in webhooks'
  | 'posts twice'
  | 'sends seconds'
  | 'sends attachments as objects'
  | 'rejects unknown fields'
  | 'limits bodies to 10 KB'
  | 'stores every repeat'
  | 'accepts any token'
  | 'responds without a messageId'
  | 'loses emoji in messages'
  | 'fails on unknown contacts'
  | 'lets pending overwrite delivered'
  | 'rejects unknown error codes'
  | 'limits without Retry-After'
  | 'redirects'
  | 'does not respond to inbound messages';

export interface SampleCrm {
  readonly url: string;
  readonly token: string;
  /** PEM. */
  readonly publicKey: string;
  stop(): Promise<void>;
}

interface Stored {
  readonly id: string;
  readonly contactId: string;
  readonly body: string;
  readonly direction: 'inbound' | 'outbound';
  readonly dateAdded: string;
  status?: string;
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: Record<string, unknown>;
  readonly bytes: number;
}

interface Reply {
  readonly status: number;
  readonly json?: object;
  readonly headers?: Record<string, string>;
}

const HEADER = 'X-CRM-Signature';
const RETRY_MS = 150;
const MAX_ATTEMPTS = 4;
/** Counts calls, not calls per second, so that a burst reaches the limit even on a busy machine. */
const LIMIT = { calls: 200, forMs: 2000 };
const EMOJI = /[\u{10000}-\u{10FFFF}]/gu;
const KNOWN = new Set(['type', 'contactId', 'locationId', 'message', 'attachments', 'altId', 'direction']);
const KNOWN_CODES = new Set(['TIMEOUT', 'CLIENT_NOT_CONNECTED', 'IMESSAGE_ERROR']);

/** Starts a small CRM that follows the contract, apart from its fault. Unlike HighLevel, it honours idempotency keys and has few routes. */
export async function startSampleCrm(webhookUrl: () => string, fault?: CrmFault): Promise<SampleCrm> {
  const token = `token-${randomUUID()}`;
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const crm = new Crm(token, privateKey, webhookUrl, fault);
  const server = crm.server();
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}/api`,
    token,
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }),
    async stop() {
      crm.stopped.abort();
      await closeHttp(server);
    },
  };
}

class Crm {
  readonly stopped = new AbortController();
  readonly #token: string;
  readonly #key: KeyObject;
  readonly #webhookUrl: () => string;
  readonly #fault: CrmFault | undefined;
  readonly #contacts = new Map<string, { id: string; phone: string }>();
  readonly #messages: Stored[] = [];
  readonly #byKey = new Map<string, string>();
  #limitedUntil = 0;
  #calls = 0;

  constructor(token: string, key: KeyObject, webhookUrl: () => string, fault: CrmFault | undefined) {
    this.#token = token;
    this.#key = key;
    this.#webhookUrl = webhookUrl;
    this.#fault = fault;
  }

  server(): Server {
    return createServer((request, response) => {
      void read(request).then((parsed) => {
        const reply = this.#handle(parsed);
        if (reply === undefined) return;
        response.writeHead(reply.status, { 'Content-Type': 'application/json', ...reply.headers });
        response.end(reply.json === undefined ? undefined : JSON.stringify(reply.json));
      });
    });
  }

  /** Returns undefined if the CRM never responds. */
  #handle(request: Request): Reply | undefined {
    if (this.#fault === 'redirects')
      return { status: 301, headers: { Location: 'https://crm.example.com/' } };
    const isKnown = request.headers.authorization === `Bearer ${this.#token}`;
    if (!isKnown && this.#fault !== 'accepts any token') return error(401, 'Invalid token');
    const limited = this.#limit();
    if (limited !== undefined) return limited;
    const { method, path } = request;
    const route = `${method} ${path.replace(/^\/api/, '')}`;
    if (route === 'GET /contacts/search/duplicate')
      return this.#findContact(request.query.get('number') ?? '');
    if (route === 'POST /contacts/upsert') return this.#upsert(String(request.body['phone']));
    if (route === 'POST /conversations/messages/inbound') return this.#inbound(request);
    if (route === 'POST /send') return this.#send(request.body);
    const [, contactId] = /^GET \/contacts\/([^/]+)$/.exec(route) ?? [];
    if (contactId !== undefined) {
      const contact = [...this.#contacts.values()].find(({ id }) => id === contactId);
      return contact === undefined ? error(404, 'No such contact') : { status: 200, json: { contact } };
    }
    const [, statusOf] = /^PUT \/conversations\/messages\/([^/]+)\/status$/.exec(route) ?? [];
    if (statusOf !== undefined) return this.#setStatus(statusOf, request.body);
    return this.#fault === 'stores every repeat' ? error(404, 'Not found') : this.#read(route, request.query);
  }

  #limit(): Reply | undefined {
    const now = performance.now();
    if (now < this.#limitedUntil) return this.#tooManyRequests();
    if (++this.#calls <= LIMIT.calls) return undefined;
    [this.#limitedUntil, this.#calls] = [now + LIMIT.forMs, 0];
    return this.#tooManyRequests();
  }

  #tooManyRequests(): Reply {
    const headers = { 'Retry-After': String(LIMIT.forMs / 1000) };
    return {
      ...error(429, 'Too many requests'),
      ...(this.#fault !== 'limits without Retry-After' && { headers }),
    };
  }

  #findContact(phone: string): Reply {
    return { status: 200, json: { contact: this.#contacts.get(phone) ?? null } };
  }

  #upsert(phone: string): Reply {
    const contact = this.#contacts.get(phone) ?? { id: randomUUID(), phone };
    this.#contacts.set(phone, contact);
    return { status: 201, json: { contact } };
  }

  #inbound({ body, headers, bytes }: Request): Reply | undefined {
    if (this.#fault === 'does not respond to inbound messages') return undefined;
    if (this.#fault === 'limits bodies to 10 KB' && bytes > 10_240) return error(413, 'Body too large');
    const { contactId, message = '', attachments = [] } = body;
    const unknown = Object.keys(body).filter((name) => !KNOWN.has(name));
    if (this.#fault === 'rejects unknown fields' && unknown.length > 0)
      return error(400, `property ${unknown[0]} should not exist`);
    if (typeof contactId !== 'string') return error(422, 'contactId is required');
    if (![...this.#contacts.values()].some(({ id }) => id === contactId))
      return error(this.#fault === 'fails on unknown contacts' ? 500 : 404, 'No such contact');
    if (message === '' && !(Array.isArray(attachments) && attachments.length > 0))
      return error(422, 'message or attachments is required');
    const key = String(headers['idempotency-key']);
    const known = this.#fault === 'stores every repeat' ? undefined : this.#byKey.get(key);
    if (known !== undefined) return { status: 200, json: { messageId: known } };
    const text = String(message);
    const stored = this.#store(
      contactId,
      this.#fault === 'loses emoji in messages' ? text.replace(EMOJI, '') : text,
      'inbound',
    );
    this.#byKey.set(key, stored.id);
    return {
      status: 201,
      json: this.#fault === 'responds without a messageId' ? { ok: true } : { messageId: stored.id },
    };
  }

  #store(contactId: string, body: string, direction: Stored['direction']): Stored {
    const stored: Stored = {
      id: randomUUID(),
      contactId,
      body,
      direction,
      dateAdded: new Date().toISOString(),
    };
    this.#messages.push(stored);
    return stored;
  }

  #read(route: string, query: URLSearchParams): Reply {
    if (route === 'GET /conversations/search')
      return { status: 200, json: { conversations: [{ id: query.get('contactId') }] } };
    const [, conversation] = /^GET \/conversations\/([^/]+)\/messages$/.exec(route) ?? [];
    if (conversation !== undefined) {
      const own = this.#messages.filter(({ contactId }) => contactId === conversation).toReversed();
      return {
        status: 200,
        json: { messages: own.slice(0, Number(query.get('limit') ?? 20)), nextPage: false },
      };
    }
    const [, id] = /^GET \/conversations\/messages\/([^/]+)$/.exec(route) ?? [];
    const message = this.#messages.find((one) => one.id === id);
    return message === undefined ? error(404, 'Not found') : { status: 200, json: message };
  }

  #setStatus(id: string, { status, error: reason }: Record<string, unknown>): Reply {
    const message = this.#messages.find((one) => one.id === id);
    if (message === undefined) return error(404, 'No such message');
    const code = String((reason as { code?: unknown } | undefined)?.code);
    if (this.#fault === 'rejects unknown error codes' && reason !== undefined && !KNOWN_CODES.has(code))
      return error(422, 'error.code must be one of the known codes');
    const isFinal = message.status === 'delivered' || message.status === 'failed';
    if (!isFinal || status !== 'pending' || this.#fault === 'lets pending overwrite delivered')
      message.status = String(status);
    return { status: 200, json: { success: true } };
  }

  /** Queues a message from a user; the webhook is sent after the response. */
  #send({ contactId, locationId, phone, message, attachments = [] }: Record<string, unknown>): Reply {
    const stored = this.#store(String(contactId), String(message), 'outbound');
    void this.#deliver(
      { contactId, locationId, phone, message, attachments, timestamp: Date.now() },
      stored.id,
    );
    return { status: 202, json: { messageId: stored.id } };
  }

  async #deliver(sent: Record<string, unknown>, messageId: string): Promise<void> {
    const copies = this.#fault === 'posts twice' ? 2 : 1;
    for (let copy = 0; copy < copies; copy++) {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const id = this.#fault === 'retries with a new messageId' && attempt > 0 ? randomUUID() : messageId;
        const { status, retryAfterSec } = await this.#post(this.#webhook(sent, id));
        const isRetryable =
          status === 0 || status === 429 || (status >= 500 && this.#fault !== 'gives up after 503');
        if (!isRetryable && !(status === 400 && this.#fault === 'retries after 400')) break;
        const pauseMs =
          this.#fault === 'ignores Retry-After' ? RETRY_MS : Math.max(RETRY_MS, retryAfterSec * 1000);
        await sleep(pauseMs, undefined, { signal: this.stopped.signal }).catch(() => {});
        if (this.stopped.signal.aborted) return;
      }
    }
  }

  #webhook(
    { message, attachments, phone, timestamp, ...sent }: Record<string, unknown>,
    messageId: string,
  ): object {
    let text = String(message);
    if (this.#fault === 'drops the footer') text = text.replace(/\n?-- svc-metadata[\s\S]*/, '');
    if (this.#fault === 'loses emoji in webhooks') text = text.replace(EMOJI, '');
    const files = attachments as readonly string[];
    return {
      ...sent,
      messageId,
      type: 'SMS',
      ...(this.#fault === 'uses removed field names' ? { body: text, to: phone } : { message: text, phone }),
      ...(files.length > 0 && {
        attachments: this.#fault === 'sends attachments as objects' ? files.map((url) => ({ url })) : files,
      }),
      timestamp: this.#fault === 'sends seconds' ? Math.floor(Number(timestamp) / 1000) : timestamp,
    };
  }

  /** Sends the bytes that it signs, unless the fault is a different serialisation. */
  async #post(webhook: object): Promise<{ status: number; retryAfterSec: number }> {
    const body = JSON.stringify(webhook);
    const isReserialised = this.#fault === 'signs a different serialisation of the body';
    const signature = sign(
      null,
      Buffer.from(isReserialised ? JSON.stringify(webhook, null, 2) : body),
      this.#key,
    );
    const encoding =
      (this.#fault === 'signs in hex' && 'hex') ||
      (this.#fault === 'signs in the URL-safe alphabet' && 'base64url') ||
      'base64';
    const type =
      this.#fault === 'sends a form content type' ? 'application/x-www-form-urlencoded' : 'application/json';
    try {
      const response = await fetch(`${this.#webhookUrl()}/crm/webhook`, {
        method: 'POST',
        headers: { 'Content-Type': type, [HEADER]: signature.toString(encoding) },
        body,
        signal: this.stopped.signal,
      });
      await response.arrayBuffer();
      return { status: response.status, retryAfterSec: Number(response.headers.get('retry-after') ?? 0) };
    } catch {
      return { status: 0, retryAfterSec: 0 };
    }
  }
}

const error = (status: number, message: string): Reply => ({ status, json: { statusCode: status, message } });

async function read(request: IncomingMessage): Promise<Request> {
  const bytes = await buffer(request);
  const url = new URL(request.url ?? '/', 'http://crm');
  const body = bytes.length === 0 ? {} : (JSON.parse(bytes.toString('utf8')) as Record<string, unknown>);
  const { method = 'GET', headers } = request;
  return { method, path: url.pathname, query: url.searchParams, headers, body, bytes: bytes.length };
}
