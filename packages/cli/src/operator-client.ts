import { parseRetryAfter } from '@footbridge/protocol/retry-after';

import { EXIT, CliError } from './cli-error.ts';
import { serverSentEvents } from './server-sent-events.ts';
import type { ServerSentEvent } from './server-sent-events.ts';
import type { ServiceTarget } from './service-target.ts';

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** Client of the operator API. Every method rejects with a CliError that has the matching exit code. */
export interface OperatorClient {
  /** The address of the operator listener. */
  readonly url: string;
  call<T>(method: Method, path: string, body?: object): Promise<T>;
  /** Subscribes to server-sent events after `lastId`. Resolves once subscribed; the iteration ends with the connection. */
  events(path: string, lastId?: string): Promise<AsyncIterable<ServerSentEvent>>;
}

export function createOperatorClient(target: ServiceTarget, timeoutMs: number): OperatorClient {
  const token = target.token();
  return {
    url: target.url,
    async call<T>(method: Method, path: string, body?: object): Promise<T> {
      const response = await request(target, path, {
        method,
        headers: {
          Authorization: `Bearer ${token}`,
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await response.text();
      if (response.ok) return (text === '' ? undefined : JSON.parse(text)) as T;
      throw toError(target, response, text);
    },
    async events(path, lastId) {
      const response = await request(target, path, {
        headers: {
          Authorization: `Bearer ${token}`,
          ...(lastId !== undefined && { 'Last-Event-ID': lastId }),
        },
      });
      if (!response.ok || response.body === null) throw toError(target, response, await response.text());
      return serverSentEvents(response.body);
    },
  };
}

async function request({ url, urlFrom }: ServiceTarget, path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url + path, { ...init, redirect: 'error' });
  } catch (error) {
    const timedOut = error instanceof DOMException && error.name === 'TimeoutError';
    const service = `the service at ${url} (${urlFrom})`;
    throw new CliError(timedOut ? `${service} did not respond in time` : `cannot connect to ${service}`, {
      exitCode: timedOut ? EXIT.timedOut : EXIT.unreachable,
      next: 'check that it is running; for another service run this in its folder, set ADMIN_HOST and ADMIN_PORT as it has them, or pass --url',
      cause: error,
    });
  }
}

const EXIT_OF: Readonly<Record<number, number>> = {
  401: EXIT.notAuthorised,
  403: EXIT.notAuthorised,
  404: EXIT.notFound,
  429: EXIT.rateLimited,
};

function toError({ url, tokenFrom }: ServiceTarget, response: Response, text: string): CliError {
  const { status, headers } = response;
  const body = errorBody(text);
  const delayMs = status === 429 ? parseRetryAfter(headers.get('retry-after'), Date.now()) : undefined;
  return new CliError(body.message ?? body.error ?? `the service responded with HTTP ${status}`, {
    exitCode: EXIT_OF[status] ?? (status >= 500 ? EXIT.unreachable : EXIT.failed),
    next: nextStep(),
    code: body.code,
  });

  function nextStep(): string | undefined {
    if (status === 401)
      return `the service at ${url} has another token than ${tokenFrom}; run this in the folder of that service, or pass --token-file`;
    if (status !== 429) return undefined;
    return delayMs === undefined
      ? 'wait, then try again'
      : `wait ${Math.ceil(delayMs / 1000)} s, then try again`;
  }
}

function errorBody(text: string): { error?: string; code?: string; message?: string } {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== 'object' || body === null) return {};
    const fields = Object.entries(body).filter(([, value]) => typeof value === 'string');
    return Object.fromEntries(fields);
  } catch {
    return {};
  }
}
