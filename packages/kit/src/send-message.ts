import { webhookEntry } from '@footbridge/protocol/codes';
import { parseFooter } from '@footbridge/protocol/footer';
import { readJson } from '@footbridge/protocol/read-json';
import { parseRetryAfter } from '@footbridge/protocol/retry-after';
import { isObject } from '@footbridge/protocol/schema';
import { importPrivateKey, type ImportedKey } from './keys.ts';
import { checkMessage, type Fault, type OutboundMessage } from './outbound-message.ts';
import { RateLimiter } from './rate-limiter.ts';
import { signWebhook, type SignedWebhook } from './sign-webhook.ts';

export interface ClientOptions {
  /** The URL of the webhook, for example `https://bridge.example/crm/webhook`. */
  readonly url: string;
  /** The CRM's private key, as PEM or already imported. */
  readonly privateKey: string | ImportedKey;
  /** The header for which the operator registered the key. Defaults to the header of the key's scheme. */
  readonly header?: string;
  /** The maximum number of attempts per message. Default 5. */
  readonly attempts?: number;
  /** The timeout of one attempt. Default 10 seconds. */
  readonly timeoutMs?: number;
  /** The maximum delay between two attempts. Default 60 seconds. If the bridge requests a longer one, sending stops. */
  readonly maxWaitMs?: number;
  /** The maximum number of reactions, stickers and messages with attachments per minute. Default 50. */
  readonly heavyPerMinute?: number;
  readonly fetch?: typeof fetch;
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export interface SendOptions {
  /** Retry while no Mac is connected. Off by default: it may take hours, and the bridge does not queue. */
  readonly retryNotConnected?: boolean;
  readonly signal?: AbortSignal;
}

export type SendResult =
  /** The bridge forwarded the message to the Mac. Status callbacks report whether it was delivered. */
  | {
      readonly ok: true;
      readonly requestId: string;
      readonly messageId: string | null;
      readonly locationId: string;
      readonly attempts: number;
    }
  | SendFailure;

export interface SendFailure {
  readonly ok: false;
  /** The HTTP status of the last response. Absent if there was none. */
  readonly status?: number;
  /** A documented code, `UNREACHABLE` if there was no response, or `HTTP_<status>` if the response had no code. */
  readonly code: string;
  /** What happened and what to do next. */
  readonly message: string;
  /** The problems with the message if it failed validation and was not sent. */
  readonly faults?: readonly Fault[];
  readonly attempts: number;
}

/** The connection settings of one bridge. Create one and reuse it: it holds the imported key and the rate limiter. */
export class BridgeClient {
  readonly settings: Required<Omit<ClientOptions, 'privateKey' | 'header'>> & Pick<ClientOptions, 'header'>;
  /** Limits reactions, stickers and attachments, each of which occupies the Mac for seconds. */
  readonly heavyLimiter: RateLimiter;
  readonly #privateKey: string | ImportedKey;
  #imported: Promise<ImportedKey> | undefined;

  constructor({ privateKey, ...options }: ClientOptions) {
    const defaults = { attempts: 5, timeoutMs: 10_000, maxWaitMs: 60_000, heavyPerMinute: 50, fetch, sleep };
    this.settings = { ...defaults, ...options };
    this.heavyLimiter = new RateLimiter(this.settings.heavyPerMinute);
    this.#privateKey = privateKey;
  }

  /** Imports the key on first use. */
  async signingKey(): Promise<ImportedKey> {
    if (typeof this.#privateKey !== 'string') return this.#privateKey;
    this.#imported ??= importPrivateKey(this.#privateKey);
    return this.#imported;
  }
}

/**
 * Validates a message, signs it once, and posts the same bytes until the bridge accepts it, rejects it permanently, or
 * the attempts are exhausted. Retries on 429, 5xx and network errors, and on 404 only with `retryNotConnected`. Throws if
 * the key is unusable or `signal` aborts; every other outcome is returned.
 */
export async function sendMessage(
  client: BridgeClient,
  message: OutboundMessage,
  options: SendOptions = {},
): Promise<SendResult> {
  const faults = checkMessage(message);
  const [fault] = faults;
  if (fault) return { ok: false, code: fault.code, message: fault.message, faults, attempts: 0 };

  const { header, attempts, maxWaitMs } = client.settings;
  const signed = await signWebhook(
    JSON.stringify(message),
    await client.signingKey(),
    header ? { header } : {},
  );
  if (isHeavy(message)) await client.settings.sleep(client.heavyLimiter.reserve(Date.now()), options.signal);

  for (let attempt = 1; ; attempt += 1) {
    const response = await post(client, signed, options.signal);
    const result = toResult(response, attempt);
    if (result.ok || attempt >= attempts || !shouldRetry(result, options)) return result;
    const requested = response && requestedDelay(response.headers);
    if (requested !== undefined && requested > maxWaitMs) return result;
    await client.settings.sleep(requested ?? backoff(attempt, maxWaitMs), options.signal);
  }
}

interface WebhookResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Returns undefined on a network error or timeout. */
async function post(
  client: BridgeClient,
  signed: SignedWebhook,
  signal?: AbortSignal,
): Promise<WebhookResponse | undefined> {
  const { url, timeoutMs, fetch: send } = client.settings;
  signal?.throwIfAborted();
  // Node 20.0 does not have `AbortSignal.any`.
  const attempt = new AbortController();
  const stop = () => attempt.abort();
  const timer = setTimeout(stop, timeoutMs);
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const response = await send(url, {
      method: 'POST',
      headers: { ...signed.headers },
      body: signed.body,
      redirect: 'manual',
      signal: attempt.signal,
    });
    return { status: response.status, headers: response.headers, body: objectIn(await readText(response)) };
  } catch {
    signal?.throwIfAborted();
    return undefined;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

/** Far more than the response of a bridge. */
const MAX_RESPONSE_BYTES = 1_000_000;

/** Returns an empty text for a body that no bridge sends. */
async function readText(response: Response): Promise<string> {
  // Some implementations of `fetch` have no streams.
  if (!response.body) return await response.text();
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (let bytes = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > MAX_RESPONSE_BYTES) {
      await reader.cancel();
      return '';
    }
    text += decoder.decode(value, { stream: true });
  }
}

function objectIn(text: string): Readonly<Record<string, unknown>> {
  const value = readJson(text);
  return isObject(value) ? value : {};
}

function toResult(response: WebhookResponse | undefined, attempts: number): SendResult {
  if (!response) {
    const message =
      'The bridge did not respond. Check the URL and the network; the message may still have arrived.';
    return { ok: false, code: 'UNREACHABLE', message, attempts };
  }
  const { status, body } = response;
  const { requestId, messageId, locationId, code } = body;
  if (status !== 200) {
    const known = typeof code === 'string' ? code : `HTTP_${status}`;
    return { ok: false, status, code: known, message: explain(known, body), attempts };
  }
  if (typeof requestId !== 'string' || typeof locationId !== 'string') {
    const message = 'The response is not from a Footbridge webhook. Check the URL.';
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

function explain(code: string, { required }: WebhookResponse['body']): string {
  if (code === 'HTTP_401') {
    return 'The signature was rejected. Check that the operator registered this key for this header and this location.';
  }
  const entry = webhookEntry(code);
  const missing = Array.isArray(required) ? ` Missing: ${required.join(', ')}.` : '';
  return entry
    ? `${entry.meaning} ${entry.advice}${missing}`
    : 'The bridge rejected the message with a code that this version of the kit does not know.';
}

function shouldRetry({ status, code }: SendFailure, { retryNotConnected }: SendOptions): boolean {
  if (status === undefined || status === 429 || status >= 500) return true;
  return code === 'LOCATION_NOT_CONNECTED' && retryNotConnected === true;
}

/** Both headers are in seconds; `Retry-After` may also be a date. */
function requestedDelay(headers: Headers): number | undefined {
  const now = Date.now();
  return (
    parseRetryAfter(headers.get('retry-after'), now) ?? parseRetryAfter(headers.get('ratelimit-reset'), now)
  );
}

const FIRST_DELAY_MS = 500;

/** Exponential backoff with jitter. */
function backoff(attempt: number, maxWaitMs: number): number {
  const delay = Math.min(maxWaitMs, FIRST_DELAY_MS * 2 ** (attempt - 1));
  return delay * (0.5 + Math.random() / 2);
}

function isHeavy({ message = '', attachments = [] }: OutboundMessage): boolean {
  const { metadata } = parseFooter(message);
  return attachments.length > 0 || metadata?.reaction !== undefined || metadata?.sticker !== undefined;
}

/** Uses the Promise constructor because the kit also runs on Node 20. */
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
