import type { SigningKey } from '../keys.ts';

export type Route =
  | 'token'
  | 'locationToken'
  | 'installedLocations'
  | 'contact'
  | 'duplicate'
  | 'search'
  | 'createContact'
  | 'updateContact'
  | 'upsert'
  | 'conversations'
  | 'messages'
  | 'message'
  | 'inbound'
  | 'status'
  | 'upload';

/** Mutable: a change applies from the next call on. */
export interface CrmSettings {
  clientId: string;
  clientSecret: string;
  /** Lifetime of an access token, both announced and enforced. */
  expiresInSec: number;
  /** How long status calls for a new message are rejected. HighLevel needs 5–10 s before it accepts them. */
  statusWindowMs: number;
  /** Whether status calls for unknown message ids are rejected. */
  strictMessages: boolean;
  /** HighLevel ignores `Idempotency-Key`; some tests need a CRM that honours it. */
  honourIdempotencyKey: boolean;
  /** How long a new message or contact stays invisible to reads and searches. */
  readLagMs: number;
  /** How far the clock that dates messages and responses is ahead. */
  clockAheadMs: number;
  /** Whether responses have a `Date` header. */
  sendsDate: boolean;
  /** How the text of a message is changed before it is stored. */
  storesText: TextChange;
  /** Per location; `null` disables limits. */
  rateLimit: { max: number; intervalMs: number; daily: number } | null;
  allowDuplicates: boolean;
  /** `default` replaces the SMS provider; `custom` is an added channel, which requires its id and the type Custom. */
  provider: { kind: 'default' } | { kind: 'custom'; id: string };
  /** Disable for load tests, where the list of calls would exhaust memory. */
  recordCalls: boolean;
}

/** `trimmed`: without white space around it. `lines trimmed`: without white space at the end of each line. */
export type TextChange = 'unchanged' | 'trimmed' | 'lines trimmed' | 'with LF for CRLF' | 'in NFC';

/** A recorded request. `answeredAt` and `status` are absent if no response was sent. */
export interface Call {
  readonly n: number;
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly query: Record<string, string>;
  readonly headers: Record<string, string>;
  readonly route: Route | undefined;
  readonly params: Record<string, string>;
  /** The location of the token. */
  readonly locationId: string | undefined;
  body: unknown;
  fault?: Fault;
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

/** A recorded status call. `acceptedAs` is its position among the accepted calls, which may differ from the order of arrival. */
export interface StatusCall {
  messageId: string;
  status: string;
  error?: unknown;
  /** The Mac's GUID of the sent message, if the bridge reports it. */
  messageGuid?: string;
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
  /** Absent if the bridge did not respond; `error` then has the reason. */
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
  /** By channel, such as `SMS`. */
  dndSettings?: Record<string, unknown>;
  /** Values by field id. */
  customFields?: Record<string, unknown>;
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
export interface TokenResponse {
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
 * An injected fault.
 * - `hang`: reads the request and never responds
 * - `dropAnswer`: handles the request, then closes the connection without a response
 * - `emptyBody`: responds with 201 and an empty body, stores nothing
 * - `expireToken`: expires the access token of this call
 * - `reset`: resets the connection before reading the body
 * - an object: changes or delays the response
 */
export type Fault = 'hang' | 'dropAnswer' | 'emptyBody' | 'expireToken' | 'reset' | FaultResponse;

/** Properties can be combined: `{ delayMs: 500, status: 503, retryAfter: 2 }`. */
export interface FaultResponse {
  /** Replaces the real response, together with `body` and `headers`. */
  status?: number;
  body?: unknown;
  headers?: Record<string, string>;
  /** The `Retry-After` header, in seconds. */
  retryAfter?: number;
  /** With `status`: the request is still handled. */
  stored?: boolean;
  /** Delay before the request is handled. */
  delayMs?: number;
  /** Delay between handling the request and responding. */
  answerDelayMs?: number;
  /** The time over which the body of the response is spread. */
  slowBodyMs?: number;
}

export interface FaultRule {
  /** A route name, `METHOD /path` (a trailing `*` matches any suffix), or `*`. */
  match: string;
  locationId?: string;
  /** How many calls it affects. Default 1. */
  times?: number;
  /** How many matching calls are skipped first. */
  after?: number;
  how: Fault;
}

export interface FaultHandle {
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
  /** Default `/crm/webhook`. */
  path?: string;
  /** The bridge to use instead of `bridgeUrl`. */
  url?: string;
  key?: SigningKey;
  header?: string;
  headers?: Record<string, string>;
  /** The exact bytes to send instead of the fields as JSON. */
  raw?: string | Uint8Array;
  /** How often to retry without a 2xx response. HighLevel retries with the same message id. */
  retries?: number;
  retryDelayMs?: number;
}
