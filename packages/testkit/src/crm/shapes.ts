import type { SigningKey } from '../keys.ts';

export type Route =
  | 'token'
  | 'locationToken'
  | 'installedLocations'
  | 'contact'
  | 'duplicate'
  | 'search'
  | 'createContact'
  | 'upsert'
  | 'inbound'
  | 'status'
  | 'upload';

/** Live: assign to a field and the next call sees it. */
export interface CrmSettings {
  clientId: string;
  clientSecret: string;
  /** Lifetime of an access token, as told to the client and as enforced. */
  expiresInSec: number;
  /** How long after a message exists its status calls are refused: the real one needs 5–10 s to know its own message. */
  statusWindowMs: number;
  /** Whether a status for a message id the CRM never gave out is refused. */
  strictMessages: boolean;
  /** The real one has no idempotency; some tests need one that has. */
  honourIdempotencyKey: boolean;
  /** Per location; `null` switches limits off. */
  rateLimit: { max: number; intervalMs: number; daily: number } | null;
  allowDuplicates: boolean;
  /** `default` replaces the SMS provider; `custom` is an added channel, which insists on its id and on type Custom. */
  provider: { kind: 'default' } | { kind: 'custom'; id: string };
  /** Off for load runs, where the list of calls would only eat memory. */
  recordCalls: boolean;
}

/** One request as it arrived. `answeredAt` and `status` stay away when no answer left. */
export interface Call {
  readonly n: number;
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly query: Record<string, string>;
  readonly headers: Record<string, string>;
  readonly route: Route | undefined;
  readonly params: Record<string, string>;
  /** Whose token it carried. */
  readonly locationId: string | undefined;
  body: unknown;
  mood?: How;
  answeredAt?: number;
  status?: number;
}

export interface StoredMessage {
  messageId: string;
  conversationId: string;
  contactId: string;
  locationId: string;
  type: string;
  message: string;
  attachments: string[];
  direction: string;
  altId?: string;
  idempotencyKey?: string;
  at: number;
}

/** In the order of arrival; `acceptedAs` counts acceptances, so a delayed one shows its true place. */
export interface StatusCall {
  messageId: string;
  status: string;
  error?: unknown;
  locationId: string | undefined;
  at: number;
  accepted: boolean;
  acceptedAs?: number;
}

export interface SentWebhook {
  messageId: string | undefined;
  body: string;
  at: number;
  ms: number;
  /** Missing when the bridge did not answer; `error` then says why. */
  status?: number;
  headers?: Record<string, string>;
  answer?: unknown;
  error?: string;
}

export interface Upload {
  name: string;
  type: string;
  size: number;
  url: string;
  locationId: string;
}

export interface Contact {
  id: string;
  locationId: string;
  phone?: string;
  email?: string;
  firstName?: string;
  lastName?: string;
  name?: string;
  tags: string[];
  source?: string;
  dateAdded: string;
  dateUpdated: string;
}

export interface NewContact {
  locationId: string;
  id?: string;
  phone?: string;
  email?: string;
  firstName?: string;
  lastName?: string;
  name?: string;
  tags?: string[];
  source?: string;
}

export type Install =
  | { locationId: string; companyId?: string; scopes?: readonly string[] }
  | { companyId: string; locations: readonly string[]; scopes?: readonly string[] };

/** A company token has no `locationId`. */
export interface TokenAnswer {
  access_token: string;
  token_type: 'Bearer';
  expires_in: number;
  refresh_token: string;
  scope: string;
  refreshTokenId: string;
  userType: 'Location' | 'Company';
  companyId: string;
  locationId?: string;
  approvedLocations?: readonly string[];
  userId: string;
  isBulkInstallation?: boolean;
  traceId: string;
}

/**
 * How the CRM fails on purpose.
 * - `hang`: takes the request, does nothing, never answers
 * - `dropAnswer`: does everything, then the connection dies before the answer
 * - `emptyBody`: 201 with nothing in it, nothing stored
 * - `expireToken`: the access token dies at this very call; a refresh heals it
 * - `reset`: the connection is reset before the body is read
 * - or an oddity: what it answers and when, see there
 */
export type How = 'hang' | 'dropAnswer' | 'emptyBody' | 'expireToken' | 'reset' | Oddity;

/** Fields combine: `{ delayMs: 500, status: 503, retryAfter: 2 }`. */
export interface Oddity {
  /** Answered instead of the true one, with `body` and `headers` when given. */
  status?: number;
  body?: unknown;
  headers?: Record<string, string>;
  /** Seconds, as the `Retry-After` header. */
  retryAfter?: number;
  /** With `status`: the work is done all the same. */
  stored?: boolean;
  /** Waits before the work is done. */
  delayMs?: number;
  /** Waits after it, before the answer. */
  answerDelayMs?: number;
  /** Spreads the answer's bytes over that time. */
  slowBodyMs?: number;
}

export interface Misbehaviour {
  /** A route's name, `METHOD /path` (a trailing `*` matches any rest), or `*`. */
  match: string;
  locationId?: string;
  /** How many calls it befalls: 1 unless told. */
  times?: number;
  /** How many matching calls are spared first. */
  after?: number;
  how: How;
}

export interface Mood {
  readonly hits: number;
  stop(): void;
}

export interface WebhookFields {
  locationId: string;
  contactId?: string;
  phone?: string;
  message?: string;
  attachments?: string[];
  messageId?: string;
  type?: string;
  userId?: string;
  [other: string]: unknown;
}

export interface WebhookOptions {
  /** `/crm/webhook` unless told. */
  path?: string;
  /** The bridge, when it is not the configured one. */
  url?: string;
  key?: SigningKey;
  header?: string;
  headers?: Record<string, string>;
  /** These very bytes instead of the fields as JSON. */
  raw?: string | Uint8Array;
  /** The real CRM repeats whatever was not answered 2xx, with the same message id. */
  retries?: number;
  retryDelayMs?: number;
}
