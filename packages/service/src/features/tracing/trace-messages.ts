import { randomBytes } from 'node:crypto';

import { requestTime } from '@footbridge/protocol/ids';
import { parseTraceParent } from '@footbridge/protocol/traceparent';
import type { TraceParent } from '@footbridge/protocol/traceparent';

import type { JournalEvent, StepDetail } from '../../relay/journal/journal.ts';
import { RecentCache } from '../../platform/recent-cache.ts';

/** A span that has ended. Attributes are ids, codes and numbers, never a text, a phone number or a token. */
export interface FinishedSpan {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'consumer';
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly until: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly failed: boolean;
}

export interface MessageTracesDeps {
  /** Decides for a whole trace, from its id and the caller's decision. All nodes must make the same decision. */
  readonly isSampled: (traceId: string, caller: TraceParent | undefined) => boolean;
  readonly record: (span: FinishedSpan) => void;
  readonly now: () => number;
}

/** A webhook and its response. */
export interface HandledWebhook {
  readonly path: string;
  readonly requestId: string;
  readonly isSigned: boolean;
  readonly traceparent: unknown;
  readonly status: number;
  readonly code: string;
  readonly ms: number;
}

/** A sampled message that has not ended. */
interface OpenTrace {
  readonly traceId: string;
  /** The parent of all other spans of the message. */
  readonly rootId: string;
  readonly from: number;
  readonly attributes: Readonly<Record<string, string>>;
  writtenAt: number | undefined;
  /** When the previous step ended. */
  since: number;
}

type Attributes = FinishedSpan['attributes'];

const MAX_OPEN = 5000;
const SERVER_ERROR = 500;

/**
 * Builds one trace per message from the steps that the journal records anyway, so that tracing costs nothing while it is off.
 *
 * The trace id of a message is its request id, or the trace id in the `traceparent` of a signed webhook. The span id of the webhook is the
 * second half of the request id. Every node can therefore continue a trace without asking another one. After a restart, the caller's trace
 * is unknown: the remaining spans have the request id as their trace id.
 */
export class MessageTraces {
  readonly #deps: MessageTracesDeps;
  /** `declined`: the caller's trace is not sampled. Later steps of the message do not carry this decision. */
  readonly #open = new RecentCache<string, OpenTrace | 'declined'>(MAX_OPEN);

  constructor(deps: MessageTracesDeps) {
    this.#deps = deps;
  }

  /** Records the span of a webhook. An unsigned request starts no trace: its sender must not be able to flood the collector. */
  handled({ path, requestId, isSigned, traceparent, status, code, ms }: HandledWebhook): void {
    if (!isSigned) return;
    const caller = parseTraceParent(traceparent);
    const traceId = caller?.traceId ?? traceIdOf(requestId);
    if (!this.#deps.isSampled(traceId, caller)) return;
    const until = this.#deps.now();
    this.#deps.record({
      name: `POST ${path}`,
      kind: 'server',
      traceId,
      spanId: spanIdOf(requestId),
      parentId: caller?.spanId,
      from: until - ms,
      until,
      attributes: {
        'http.request.method': 'POST',
        'url.path': path,
        'http.response.status_code': status,
        'footbridge.request_id': requestId,
        ...(code !== '' && { 'footbridge.code': code }),
      },
      failed: status >= SERVER_ERROR,
    });
  }

  /** Records the spans that end with a step of a message. */
  step(event: JournalEvent): void {
    const trace = this.#open.get(event.messageId) ?? this.#begin(event);
    if (trace === undefined || trace === 'declined') return;
    const { at, recorded } = event;
    const detail = recorded.detail ?? {};
    const code = recorded.code === undefined ? undefined : { 'footbridge.code': recorded.code };
    switch (event.step) {
      case 'accepted':
      case 'rejected':
      case 'not_connected':
        break;
      case 'written':
        trace.writtenAt ??= at;
        break;
      case 'mac_reported':
        this.#span(
          trace,
          'Mac',
          trace.writtenAt ?? at,
          at,
          { ...outcomeOf(detail), ...code },
          detail['status'] === 'failed',
        );
        break;
      case 'not_confirmed':
        this.#span(trace, 'Mac', trace.writtenAt ?? at, at, { 'footbridge.outcome': 'not_confirmed' }, true);
        break;
      case 'status_sent':
      case 'crm_refused':
        this.#crmCall(trace, event, detail);
        break;
      case 'contact_found':
        this.#span(trace, 'CRM contact', trace.since, at);
        break;
      case 'looked_up':
      case 'uncertain':
        this.#span(trace, 'CRM conversation', trace.since, at, {}, event.step === 'uncertain');
        break;
      case 'crm_accepted':
        this.#span(trace, 'CRM message', trace.since, at);
        this.#end(trace, event, 'delivered');
        break;
      case 'acknowledged':
        this.#end(trace, event, 'repeated');
        break;
      case 'parked':
        this.#end(trace, event, 'parked', code);
        break;
      case 'received':
      case 'no_token':
        break;
    }
    trace.since = at;
  }

  /** Records a status call, or a failed attempt to deliver an inbound message. Its duration includes rate limiting and retries. */
  #crmCall(trace: OpenTrace, { messageId, step, at }: JournalEvent, detail: StepDetail): void {
    const { status, http } = detail;
    const from = status === 'pending' ? (trace.writtenAt ?? trace.since) : trace.since;
    const attributes = {
      ...outcomeOf(detail),
      ...(typeof http === 'number' && http > 0 && { 'http.response.status_code': http }),
    };
    const name = typeof status === 'string' ? `CRM status ${status}` : 'CRM attempt';
    this.#span(trace, name, from, at, attributes, step === 'crm_refused');
    if (typeof status === 'string' && status !== 'pending') this.#open.delete(messageId);
  }

  /** Returns undefined for a message that is not sampled. */
  #begin({ messageId, at, recorded, message }: JournalEvent): OpenTrace | undefined {
    const caller = parseTraceParent(recorded.detail?.['traceparent']);
    const traceId = caller?.traceId ?? traceIdOf(messageId);
    if (!this.#deps.isSampled(traceId, caller)) {
      if (caller !== undefined) this.#open.set(messageId, 'declined');
      return undefined;
    }
    // A Mac may report a request id that it made up.
    if (requestTime(messageId) === undefined) return undefined;
    const isInbound = message?.direction === 'inbound';
    const locationId = message?.locationId ?? recorded.message?.locationId;
    const trace: OpenTrace = {
      traceId,
      // A Mac may resend an inbound message, which is then another span of the same trace.
      rootId: isInbound ? randomBytes(8).toString('hex') : spanIdOf(messageId),
      from: at,
      attributes: {
        'footbridge.request_id': messageId,
        ...(locationId !== undefined && { 'footbridge.location_id': locationId }),
        ...(message !== undefined && { 'footbridge.kind': message.kind }),
      },
      writtenAt: undefined,
      since: at,
    };
    this.#open.set(messageId, trace);
    return trace;
  }

  #span(
    { traceId, rootId, attributes }: OpenTrace,
    name: string,
    from: number,
    until: number,
    more: Attributes = {},
    failed = false,
  ): void {
    this.#deps.record({
      name,
      kind: 'client',
      traceId,
      spanId: randomBytes(8).toString('hex'),
      parentId: rootId,
      from,
      until,
      attributes: { ...attributes, ...more },
      failed,
    });
  }

  #end(trace: OpenTrace, { messageId, at }: JournalEvent, outcome: string, more: Attributes = {}): void {
    this.#open.delete(messageId);
    this.#deps.record({
      name: 'inbound message',
      kind: 'consumer',
      traceId: trace.traceId,
      spanId: trace.rootId,
      parentId: undefined,
      from: trace.from,
      until: at,
      attributes: { ...trace.attributes, 'footbridge.outcome': outcome, ...more },
      failed: outcome === 'parked',
    });
  }
}

const outcomeOf = ({ status }: StepDetail): Attributes =>
  typeof status === 'string' ? { 'footbridge.outcome': status } : {};

/** A UUID without dashes is a valid trace id. */
const traceIdOf = (id: string): string =>
  id.slice(0, 8) + id.slice(9, 13) + id.slice(14, 18) + id.slice(19, 23) + id.slice(24);

/** The second half of a UUIDv7, which is random. */
const spanIdOf = (requestId: string): string => traceIdOf(requestId).slice(16);
