import { readJson } from '@footbridge/protocol/read-json';
import type { Clock } from '@footbridge/runtime/clock';

import { CANCELLED, failed } from '../../platform/retry/retry.ts';
import type { Attempt, FailedAttempt, SendGuard } from '../../platform/retry/retry.ts';
import type { Slot } from '../../platform/extension-points.ts';
import type { Metrics } from '../../platform/metrics/metrics.ts';
import { RecentCache } from '../../platform/recent-cache.ts';
import type { Bearer, BearerKind, CrmTokens } from './tokens.ts';
import { classifyResponse, redactMessage, stringsIn, messageOf } from './failed-response.ts';
import { LocationThrottles } from './location-throttle.ts';
import type { LocationThrottle } from './location-throttle.ts';
import type { HttpRequest, HttpResponse, NoResponse, Transport } from './transport-http.ts';

/** One request to the CRM for a location. */
export interface CrmCall<T> {
  /** What it is for, in the metrics. */
  readonly operation: string;
  readonly locationId: string;
  readonly bearer: BearerKind;
  readonly method: HttpRequest['method'];
  readonly path: string;
  readonly body?: string | Buffer;
  /** The type of the body, when it is not JSON. */
  readonly contentType?: string;
  readonly idempotencyKey?: string;
  readonly timeoutMs?: number;
  /** A caller waits for the response, so this call takes precedence over others in the queue. */
  readonly isUrgent?: boolean;
  readonly maxBodyBytes?: number;
  /** Reads a 2xx. `clockAheadMs` returns a lower bound of how far the CRM's clock is ahead of ours, from its `Date` header. */
  readonly read: (text: string, status: number, clockAheadMs: () => number) => Attempt<T>;
  /** The status says enough: the body of a 2xx is not kept. */
  readonly discardsBody?: boolean;
  /** Returns a value that a rejection contains, or undefined when it has none. */
  readonly readError?: (text: string) => T | undefined;
}

/**
 * Makes one attempt of a call, with a bearer token and `Version`. Each location has a limit of 90 calls in ten seconds and a circuit
 * breaker. A rejected token is renewed for the next attempt. Sends at most one request. Never rejects.
 */
export interface CrmClient {
  attempt<T>(call: CrmCall<T>, guard?: SendGuard): Promise<Attempt<T>>;
}

export interface CrmClientDeps {
  readonly transport: Transport;
  readonly host: string;
  /** The `Version` header of every call (I7). */
  readonly apiVersion: string;
  readonly tokens: Pick<Slot<CrmTokens>, 'value'>;
  readonly clock: Clock;
  readonly callsPer10Sec?: number;
  readonly metrics?: Pick<Metrics, 'crmCall'>;
  readonly recentCalls?: Pick<RecentCrmCalls, 'add'>;
}

const JSON_TYPE = 'application/json';
/** The assumed clock error of a CRM that sends no `Date` header: more than a wrong time zone. */
const MAX_CLOCK_BEHIND_MS = 86_400_000;
/** Urgent calls are few and may always queue. */
const MAX_QUEUED = 500;
const QUEUE_FULL = failed('crowded', {
  reason: 'too many calls are queued',
  retryAfterMs: 1000,
  unsent: true,
});
const LEASE_STORE_UNAVAILABLE = failed('unavailable', { retryAfterMs: 500, unsent: true });

/** A CRM client with a value for metrics. */
export interface MeasuredCrmClient extends CrmClient {
  /** The number of locations whose circuit is open. */
  readonly openCircuits: number;
}

export function createCrmClient(deps: CrmClientDeps): MeasuredCrmClient {
  return new HttpCrmClient(deps);
}

class HttpCrmClient implements MeasuredCrmClient {
  readonly #transport: Transport;
  readonly #origin: string;
  readonly #prefix: string;
  readonly #apiVersion: string;
  readonly #tokens: CrmClientDeps['tokens'];
  readonly #clock: Clock;
  readonly #throttles: LocationThrottles;
  readonly #metrics: CrmClientDeps['metrics'];
  readonly #recentCalls: CrmClientDeps['recentCalls'];
  /** The headers of a JSON request, built once per token. */
  readonly #jsonHeaders = new WeakMap<Bearer, string[]>();

  constructor(deps: CrmClientDeps) {
    const host = new URL(deps.host);
    this.#transport = deps.transport;
    this.#origin = host.origin;
    this.#prefix = host.pathname.replace(/\/$/, '');
    this.#apiVersion = deps.apiVersion;
    this.#tokens = deps.tokens;
    this.#clock = deps.clock;
    this.#throttles = new LocationThrottles(deps.clock, deps.callsPer10Sec ?? 90);
    this.#metrics = deps.metrics;
    this.#recentCalls = deps.recentCalls;
  }

  get openCircuits(): number {
    return this.#throttles.open;
  }

  async attempt<T>(call: CrmCall<T>, guard: SendGuard = {}): Promise<Attempt<T>> {
    const throttle = this.#throttles.of(call.locationId);
    const bearer = await this.#tokens.value.bearer(call.locationId, call.bearer);
    if ('missing' in bearer) return failed(bearer.missing, { unsent: true });
    const blocked = await this.#admit(throttle, call.isUrgent ?? false, guard);
    if (blocked !== undefined) return blocked;
    guard.work?.();
    const sentAt = this.#clock.monotonic();
    let response: HttpResponse | NoResponse;
    try {
      response = await this.#transport.send(this.#request(call, bearer));
    } finally {
      throttle.leave();
    }
    guard.work?.();
    const now = this.#clock.monotonic();
    const result = 'reason' in response ? response.reason : String(response.status);
    this.#metrics?.crmCall(call.operation, result, (now - sentAt) / 1000);
    this.#recentCalls?.add(call.locationId, call.operation, result);
    const locationOkMsAgo = now - throttle.lastSuccess;
    if ('reason' in response) {
      throttle.failed();
      const { reason, code, sent: inDoubt } = response;
      const kind = reason === 'timeout' ? 'timeout' : 'network';
      return failed(kind, { reason, code, inDoubt, locationOkMsAgo });
    }
    const { status, text, headers } = response;
    if (status >= 200 && status < 300) {
      // Reads succeed while the CRM accepts no changes.
      if (call.method === 'GET') throttle.answered();
      else throttle.succeeded();
      return call.read(text, status, () => this.#clockAheadMs(headers));
    }
    const value = call.readError?.(text);
    if (value !== undefined) {
      throttle.answered();
      return { ok: true, value };
    }
    return { ...(await this.#failure(call, bearer, throttle, response, guard.previous)), locationOkMsAgo };
  }

  /** Takes a slot of the throttle. Resolves with the failure if the call must not be sent; then no slot is held. */
  async #admit(
    throttle: LocationThrottle,
    isUrgent: boolean,
    { fence, cancellation }: SendGuard,
  ): Promise<FailedAttempt | undefined> {
    const blocked = circuitFailure(throttle);
    if (blocked !== undefined) return blocked;
    if (!throttle.tryEnter(isUrgent)) {
      if (throttle.queued >= MAX_QUEUED && !isUrgent) return QUEUE_FULL;
      if (!(await throttle.enter(isUrgent, cancellation?.signal))) return CANCELLED;
    }
    // Checked again after the fence: another call may have become the probe of an open circuit in the meantime.
    const refused = circuitFailure(throttle) ?? (await fenceFailure(fence)) ?? circuitFailure(throttle);
    if (refused === undefined) throttle.begin();
    else throttle.leave();
    return refused;
  }

  async #failure(
    call: CrmCall<unknown>,
    bearer: Bearer,
    throttle: LocationThrottle,
    response: HttpResponse,
    previous: FailedAttempt | undefined,
  ): Promise<FailedAttempt> {
    const { status } = response;
    const message = messageOf(readJson(response.text));
    const classified = classifyResponse(response, message, this.#clock.now());
    const reason = redactMessage(message, [bearer.authorization.slice(7), ...sentTexts(call)]);
    if (classified.kind === 'http' && status !== 429) throttle.failed();
    else throttle.answered();
    if (status === 429) throttle.pause(classified.retryAfterMs ?? 0);
    const failure = failed(classified.kind, { ...classified, status, reason });
    if (failure.kind !== 'token_expired') return failure;
    if (previous?.kind === 'token_expired') return { ...failure, kind: 'token_refused' };
    const renewed = await this.#tokens.value.renew(call.locationId, call.bearer, bearer);
    return 'missing' in renewed ? { ...failure, kind: renewed.missing } : failure;
  }

  /** At most the true value: the header has whole seconds, and the response took some time to arrive. */
  #clockAheadMs(headers: HttpResponse['headers']): number {
    const crmTime = Date.parse(headers.get('date') ?? '');
    return Number.isNaN(crmTime) ? -MAX_CLOCK_BEHIND_MS : crmTime - this.#clock.now();
  }

  #request(call: CrmCall<unknown>, bearer: Bearer): HttpRequest {
    return {
      tenant: call.locationId,
      origin: this.#origin,
      method: call.method,
      path: this.#prefix + call.path,
      headers: this.#headers(call, bearer),
      body: call.body,
      wantsBody: call.discardsBody !== true,
      maxBodyBytes: call.maxBodyBytes,
      timeoutMs: call.timeoutMs,
    };
  }

  #headers({ body, contentType, idempotencyKey }: CrmCall<unknown>, bearer: Bearer): string[] {
    const isPlainJson = body !== undefined && contentType === undefined && idempotencyKey === undefined;
    const known = isPlainJson ? this.#jsonHeaders.get(bearer) : undefined;
    if (known !== undefined) return known;
    const headers = ['authorization', bearer.authorization, 'version', this.#apiVersion, 'accept', JSON_TYPE];
    if (body !== undefined) headers.push('content-type', contentType ?? JSON_TYPE);
    if (idempotencyKey !== undefined) headers.push('idempotency-key', idempotencyKey);
    if (isPlainJson) this.#jsonHeaders.set(bearer, headers);
    return headers;
  }
}

function circuitFailure(throttle: LocationThrottle): FailedAttempt | undefined {
  const retryAfterMs = throttle.blockedMs();
  if (retryAfterMs === 0) return undefined;
  return failed('circuit', { reason: 'the CRM failed 20 times in a row', retryAfterMs, unsent: true });
}

/** The last check before the request is sent. */
async function fenceFailure(fence: SendGuard['fence']): Promise<FailedAttempt | undefined> {
  try {
    return (await fence?.()) === false ? CANCELLED : undefined;
  } catch {
    return LEASE_STORE_UNAVAILABLE;
  }
}

const sentTexts = (call: CrmCall<unknown>): string[] =>
  call.body === undefined || call.contentType !== undefined ? [] : stringsIn(readJson(String(call.body)));

const KEPT = 50;
const LOCATIONS_PER_GENERATION = 10_000;
/** The calls that report a message or its status. */
const REPORTS = new Set(['status', 'inbound']);
/** An inbound message is posted once its contact is known. Other lookups may fail without harm. */
const CONTACT_CALLS = new Set(['find_contact', 'create_contact']);

/** The newest calls to the CRM for a location. */
export interface RecentCalls {
  readonly calls: number;
  readonly rejected: number;
  /** The HTTP status of the newest rejected call, or the reason why there was no response. */
  readonly lastResult: string | null;
  /** The oldest of the consecutive rejections at the end of the list. */
  readonly rejectedSince: number | null;
}

export const NO_CALLS: RecentCalls = { calls: 0, rejected: 0, lastResult: null, rejectedSince: null };

/** The calls of one location. Updated in place: one object per call would be promoted to V8's old generation. */
interface LocationCalls {
  /** A ring buffer of HTTP statuses, or the reason why there was no response. `next` is the index to write. */
  readonly results: string[];
  next: number;
  /** The time of the first rejection since the last success. */
  rejectedSince: number | null;
}

/** The newest calls to the CRM by location. In memory: a restart forgets them. */
export class RecentCrmCalls {
  readonly #now: () => number;
  readonly #byLocation = new RecentCache<string, LocationCalls>(LOCATIONS_PER_GENERATION);

  constructor(now: () => number) {
    this.#now = now;
  }

  add(locationId: string, operation: string, result: string): void {
    if (!isCounted(operation, result)) return;
    const calls = this.#byLocation.get(locationId) ?? { results: [], next: 0, rejectedSince: null };
    calls.results[calls.next] = result;
    calls.next = (calls.next + 1) % KEPT;
    if (!isRejected(result)) calls.rejectedSince = null;
    else calls.rejectedSince ??= this.#now();
    this.#byLocation.set(locationId, calls);
  }

  of(locationId: string): RecentCalls {
    const calls = this.#byLocation.get(locationId);
    if (calls === undefined) return NO_CALLS;
    const { results, next, rejectedSince } = calls;
    const rejected = [...results.slice(next), ...results.slice(0, next)].filter(isRejected);
    return {
      calls: results.length,
      rejected: rejected.length,
      lastResult: rejected.at(-1) ?? null,
      rejectedSince,
    };
  }
}

/** Of the contact calls only failures count: otherwise each rejected message would also count one successful search. */
const isCounted = (operation: string, result: string): boolean =>
  REPORTS.has(operation) || (CONTACT_CALLS.has(operation) && isRejected(result) && !isAboutContact(result));

/** Such as 404 or 422: the CRM does not have this contact, or rejects its number. Messages of others get through. */
const isAboutContact = (result: string): boolean => /^4(?!01|03|08|25|29)/.test(result);

const isRejected = (result: string): boolean => !result.startsWith('2');
