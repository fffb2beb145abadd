import { setTimeout as sleep } from 'node:timers/promises';

import { readJson } from '@footbridge/protocol/read-json';
import { parseRetryAfter } from '@footbridge/protocol/retry-after';
import { readBounded } from '@footbridge/runtime/read-bounded';

import { excerpt } from './redact.ts';
import type { Redact } from './redact.ts';

export type Method = 'GET' | 'POST' | 'PUT';

/** A response of the CRM. */
export interface CrmResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body, or undefined if it is not JSON. */
  readonly json: unknown;
  readonly ms: number;
}

/** The CRM did not respond. */
export interface NoResponse {
  readonly status: 0;
  readonly reason: string;
  readonly ms: number;
}

export interface CrmCall {
  readonly method: Method;
  /** A path below the address of the CRM, or an absolute address. */
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Calls a CRM as the service does: bearer token, version, JSON, no redirects, one deadline per call. */
export interface CrmApi {
  /** The address without credentials, query and fragment, for reports. */
  readonly url: string;
  /** All calls so far. */
  readonly calls: readonly RecordedCall[];
  /** Never rejects because of the CRM. After a 429, waits as long as the CRM asks, at most 15 seconds, and retries once. */
  call(call: CrmCall): Promise<CrmResponse | NoResponse>;
  /** Makes one attempt. */
  attempt(call: CrmCall): Promise<CrmResponse | NoResponse>;
  /** Describes a response in one line without secrets. */
  describe(response: CrmResponse | NoResponse): string;
}

/** A completed call, for the checks that examine all calls. */
export interface RecordedCall {
  readonly line: string;
  readonly status: number;
  readonly ms: number;
  readonly hasRetryAfter: boolean;
}

export interface CrmApiOptions {
  readonly url: string;
  readonly token: string | undefined;
  readonly apiVersion: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly redact: Redact;
}

/** More than any valid response needs: a page of 20 messages of 20,000 escaped characters. */
const MAX_BODY_MB = 4;
const MAX_BODY_BYTES = MAX_BODY_MB * 1024 * 1024;
const TOO_LARGE = `the response is larger than ${MAX_BODY_MB} MB`;
const MAX_WAIT_MS = 15_000;
const DEFAULT_WAIT_MS = 1000;

export function createCrmApi(options: CrmApiOptions): CrmApi {
  const { url, token, apiVersion, timeoutMs, signal, redact } = options;
  const calls: RecordedCall[] = [];

  async function attempt({ method, path, body, headers }: CrmCall): Promise<CrmResponse | NoResponse> {
    const started = performance.now();
    const elapsed = () => Math.round(performance.now() - started);
    const deadline = AbortSignal.timeout(timeoutMs);
    let response: CrmResponse | NoResponse;
    try {
      const received = await fetch(path.startsWith('http') ? path : url + path, {
        method,
        headers: {
          Accept: 'application/json',
          Version: apiVersion,
          ...(token !== undefined && { Authorization: `Bearer ${token}` }),
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        redirect: 'manual',
        signal: AbortSignal.any([deadline, signal]),
      });
      const bytes = received.body === null ? '' : await readBounded(received.body, MAX_BODY_BYTES);
      if (bytes === undefined) response = { status: 0, reason: TOO_LARGE, ms: elapsed() };
      else {
        const text = bytes.toString();
        const { status } = received;
        response = { status, headers: received.headers, text, json: readJson(text), ms: elapsed() };
      }
    } catch (error) {
      signal.throwIfAborted();
      const reason = deadline.aborted ? `no response within ${timeoutMs / 1000} s` : reasonOf(error);
      response = { status: 0, reason, ms: elapsed() };
    }
    calls.push({
      line: `${method} ${(path.split('?')[0] ?? '').replace(/^https?:\/\/[^/]*/, '')}`,
      status: response.status,
      ms: response.ms,
      hasRetryAfter: !('reason' in response) && waitOf(response) !== undefined,
    });
    return response;
  }

  return {
    url: shown(url),
    calls,
    attempt,
    async call(call) {
      const response = await attempt(call);
      if ('reason' in response || response.status !== 429) return response;
      await sleep(Math.min(waitOf(response) ?? DEFAULT_WAIT_MS, MAX_WAIT_MS), undefined, { signal });
      return await attempt(call);
    },
    describe(response) {
      if ('reason' in response) return response.reason;
      const type = response.headers.get('content-type')?.split(';')[0] ?? 'no content type';
      const body = response.text === '' ? 'an empty body' : excerpt(redact(response.text));
      return `HTTP ${response.status} after ${response.ms} ms, ${type}: ${body}`;
    },
  };
}

export const isAccepted = ({ status }: CrmResponse | NoResponse): boolean => status >= 200 && status < 300;

export const jsonOf = (response: CrmResponse | NoResponse): unknown =>
  'reason' in response ? undefined : response.json;

/** HighLevel sends the interval of its rate limit instead of Retry-After. */
function waitOf({ headers }: CrmResponse): number | undefined {
  const interval = Number(headers.get('x-ratelimit-interval-milliseconds') ?? Number.NaN);
  return parseRetryAfter(headers.get('retry-after'), Date.now()) ?? (interval > 0 ? interval : undefined);
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const code: unknown = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' ? `the connection failed: ${code}` : 'the connection failed';
}

function shown(address: string): string {
  const { origin, pathname } = new URL(address);
  return origin + pathname.replace(/\/$/, '');
}
