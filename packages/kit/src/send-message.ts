import { codeEntry } from '@footbridge/protocol/codes';
import { parseFooter } from '@footbridge/protocol/footer';
import { isObject } from '@footbridge/protocol/schema';
import { importPrivateKey, type ImportedKey } from './keys.ts';
import { checkMessage, type Fault, type OutboundMessage } from './outbound-message.ts';
import { Pace } from './pace.ts';
import { waitAskedFor } from './retry-after.ts';
import { signWebhook, type SignedWebhook } from './sign-webhook.ts';

export interface ClientOptions {
  /** The address of the webhook, for example `https://bridge.example/crm/webhook`. */
  readonly url: string;
  /** The CRM's private key, PEM or imported before. */
  readonly privateKey: string | ImportedKey;
  /** The header under which the operator registered the key, if it is not the usual one. */
  readonly header?: string;
  /** How often a message is tried in all; 5. */
  readonly attempts?: number;
  /** How long one try may take; 10 seconds. */
  readonly timeoutMs?: number;
  /** The longest wait between two tries; 60 seconds. When the bridge asks for more, the message is given up. */
  readonly maxWaitMs?: number;
  /** How many reactions, stickers and attachments are sent in a minute; 50. */
  readonly heavyPerMinute?: number;
  readonly fetch?: typeof fetch;
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export interface SendOptions {
  /** Try again while no Mac is connected. Off by default: it may take hours, and nothing is queued. */
  readonly retryNotConnected?: boolean;
  readonly signal?: AbortSignal;
}

export type Sent =
  /** On its way to the Mac. What became of it comes by status calls. */
  | {
      readonly ok: true;
      readonly requestId: string;
      readonly messageId: string | null;
      readonly locationId: string;
      readonly attempts: number;
    }
  | NotSent;

export interface NotSent {
  readonly ok: false;
  /** Of the last answer; missing when there was none. */
  readonly status?: number;
  /** One of the documented codes, `UNREACHABLE` when no answer came, or `HTTP_<status>` when it had no code. */
  readonly code: string;
  /** What happened and what to do next. */
  readonly message: string;
  /** What is wrong with the message, when it was refused before sending. */
  readonly faults?: readonly Fault[];
  readonly attempts: number;
}

/** Where to send and with which key. Make one and keep it: it holds the imported key and the pace. */
export class BridgeClient {
  readonly settings: Required<Omit<ClientOptions, 'privateKey' | 'header'>> & Pick<ClientOptions, 'header'>;
  /** Reactions, stickers and attachments keep a Mac busy for seconds each. */
  readonly heavyPace: Pace;
  readonly #privateKey: string | ImportedKey;
  #imported: Promise<ImportedKey> | undefined;

  constructor({ privateKey, ...options }: ClientOptions) {
    const defaults = { attempts: 5, timeoutMs: 10_000, maxWaitMs: 60_000, heavyPerMinute: 50, fetch, sleep };
    this.settings = { ...defaults, ...options };
    this.heavyPace = new Pace(this.settings.heavyPerMinute);
    this.#privateKey = privateKey;
  }

  /** Imported at the first message, once. */
  async signingKey(): Promise<ImportedKey> {
    if (typeof this.#privateKey !== 'string') return this.#privateKey;
    this.#imported ??= importPrivateKey(this.#privateKey);
    return this.#imported;
  }
}

/**
 * Sends one message: checks it, signs it once, and posts the same bytes until the bridge takes it, refuses it for good,
 * or the tries are used up. 429, 5xx and a missing answer are tried again, 404 only when asked to, anything else never.
 * Throws for a key that cannot be used and when `signal` aborts; every other outcome is an answer.
 */
export async function sendMessage(
  client: BridgeClient,
  message: OutboundMessage,
  options: SendOptions = {},
): Promise<Sent> {
  const faults = checkMessage(message);
  const [fault] = faults;
  if (fault) return { ok: false, code: fault.code, message: fault.message, faults, attempts: 0 };

  const { header, attempts, maxWaitMs } = client.settings;
  const signed = await signWebhook(
    JSON.stringify(message),
    await client.signingKey(),
    header ? { header } : {},
  );
  if (isHeavy(message)) await client.settings.sleep(client.heavyPace.reserve(Date.now()), options.signal);

  for (let attempt = 1; ; attempt += 1) {
    const answer = await post(client, signed, options.signal);
    const result = read(answer, attempt);
    if (result.ok || attempt >= attempts || !isWorthAnotherTry(result, options)) return result;
    const asked = answer && waitAskedFor(answer.headers, Date.now());
    if (asked !== undefined && asked > maxWaitMs) return result;
    await client.settings.sleep(asked ?? backoff(attempt, maxWaitMs), options.signal);
  }
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Undefined when no answer came. */
async function post(
  client: BridgeClient,
  signed: SignedWebhook,
  signal?: AbortSignal,
): Promise<Answer | undefined> {
  const { url, timeoutMs, fetch: send } = client.settings;
  signal?.throwIfAborted();
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await send(url, {
      method: 'POST',
      headers: { ...signed.headers },
      body: signed.body,
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    return { status: response.status, headers: response.headers, body: readJson(await response.text()) };
  } catch {
    signal?.throwIfAborted();
    return undefined;
  }
}

function readJson(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function read(answer: Answer | undefined, attempts: number): Sent {
  if (!answer) {
    const message =
      'No answer came from the bridge. Check the address and the network; the message may have arrived.';
    return { ok: false, code: 'UNREACHABLE', message, attempts };
  }
  const { status, body } = answer;
  const { requestId, messageId, locationId, code } = body;
  if (status !== 200) {
    const known = typeof code === 'string' ? code : `HTTP_${status}`;
    return { ok: false, status, code: known, message: explain(known, body), attempts };
  }
  if (typeof requestId !== 'string' || typeof locationId !== 'string') {
    const message = 'Something answered 200 that is no bridge. Is this the address of the webhook?';
    return { ok: false, status, code: 'UNEXPECTED_ANSWER', message, attempts };
  }
  return {
    ok: true,
    requestId,
    locationId,
    messageId: typeof messageId === 'string' ? messageId : null,
    attempts,
  };
}

function explain(code: string, { required }: Answer['body']): string {
  if (code === 'HTTP_401') {
    return 'The signature was not accepted. Is this key registered with the operator, under this header and for this location?';
  }
  const entry = codeEntry(code, 'webhook');
  const missing = Array.isArray(required) ? ` Missing: ${required.join(', ')}.` : '';
  return entry
    ? `${entry.meaning} ${entry.advice}${missing}`
    : 'The bridge refused the message for a reason unknown to this kit.';
}

function isWorthAnotherTry({ status, code }: NotSent, { retryNotConnected }: SendOptions): boolean {
  if (status === undefined || status === 429 || status >= 500) return true;
  return code === 'LOCATION_NOT_CONNECTED' && retryNotConnected === true;
}

const FIRST_WAIT_MS = 500;

/** Twice as long each time, and never the same for everybody. */
function backoff(attempt: number, maxWaitMs: number): number {
  const wait = Math.min(maxWaitMs, FIRST_WAIT_MS * 2 ** (attempt - 1));
  return wait * (0.5 + Math.random() / 2);
}

function isHeavy({ message = '', attachments = [] }: OutboundMessage): boolean {
  const { metadata } = parseFooter(message);
  return attachments.length > 0 || metadata?.reaction !== undefined || metadata?.sticker !== undefined;
}

/** Node 20 can only make a promise this way. */
function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (ms <= 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
