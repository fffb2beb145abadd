import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parseRetryAfter } from '@footbridge/protocol/retry-after';

import { EXIT, CliError } from './cli-error.ts';
import { serverSentEvents } from './server-sent-events.ts';
import type { ServerSentEvent } from './server-sent-events.ts';

export interface OperatorOptions {
  readonly url: string;
  readonly tokenFile: string | undefined;
  readonly timeoutMs: number;
}

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** Client of the operator API. Every method rejects with a CliError that has the matching exit code. */
export interface OperatorClient {
  call<T>(method: Method, path: string, body?: object): Promise<T>;
  /** Subscribes to server-sent events after `lastId`. Resolves once subscribed; the iteration ends with the connection. */
  events(path: string, lastId?: string): Promise<AsyncIterable<ServerSentEvent>>;
}

export function createOperatorClient(options: OperatorOptions, env = process.env): OperatorClient {
  const token = operatorToken(options.tokenFile, env);
  const base = options.url.replace(/\/+$/, '');
  return {
    async call<T>(method: Method, path: string, body?: object): Promise<T> {
      const response = await request(base, path, {
        method,
        headers: {
          Authorization: `Bearer ${token}`,
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(options.timeoutMs),
      });
      const text = await response.text();
      if (response.ok) return (text === '' ? undefined : JSON.parse(text)) as T;
      throw toError(response, text);
    },
    async events(path, lastId) {
      const response = await request(base, path, {
        headers: {
          Authorization: `Bearer ${token}`,
          ...(lastId !== undefined && { 'Last-Event-ID': lastId }),
        },
      });
      if (!response.ok || response.body === null) throw toError(response, await response.text());
      return serverSentEvents(response.body);
    },
  };
}

/** A command-line option would expose the token in the process list, so it comes from a file or the environment. */
function operatorToken(file: string | undefined, env: NodeJS.ProcessEnv): string {
  if (file !== undefined) return readToken(file);
  const given = env['OPERATOR_TOKEN'];
  if (given !== undefined && given !== '') return given;
  return readToken(join(env['DATA_DIR'] ?? 'data', 'operator-token'));
}

function readToken(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new CliError(`cannot read the operator token from ${file}`, {
      exitCode: EXIT.configuration,
      next: 'set OPERATOR_TOKEN or DATA_DIR, pass --token-file, or run this in the directory of the service',
      cause: error,
    });
  }
}

async function request(base: string, path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(base + path, { ...init, redirect: 'error' });
  } catch (error) {
    const timedOut = error instanceof DOMException && error.name === 'TimeoutError';
    throw new CliError(timedOut ? `${base} did not respond in time` : `cannot connect to ${base}`, {
      exitCode: timedOut ? EXIT.timedOut : EXIT.unreachable,
      next: 'check that the service is running; its operator API listens on ADMIN_HOST:ADMIN_PORT, or pass --url',
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

const NEXT_OF: Readonly<Record<number, string>> = {
  401: "use the service's own OPERATOR_TOKEN, or the token in its DATA_DIR/operator-token",
  429: 'wait, then try again',
};

function toError(response: Response, text: string): CliError {
  const { status, headers } = response;
  const body = errorBody(text);
  const delayMs = status === 429 ? parseRetryAfter(headers.get('retry-after'), Date.now()) : undefined;
  return new CliError(body.message ?? body.error ?? `the service responded with HTTP ${status}`, {
    exitCode: EXIT_OF[status] ?? (status >= 500 ? EXIT.unreachable : EXIT.failed),
    next: delayMs === undefined ? NEXT_OF[status] : `wait ${Math.ceil(delayMs / 1000)} s, then try again`,
    code: body.code,
  });
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
