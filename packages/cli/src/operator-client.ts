import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parseRetryAfter } from '@footbridge/protocol/retry-after';

import { EXIT, Failure } from './failure.ts';
import { serverSentEvents } from './server-sent-events.ts';
import type { ServerSentEvent } from './server-sent-events.ts';

export interface OperatorOptions {
  readonly url: string;
  readonly tokenFile: string | undefined;
  readonly timeoutMs: number;
}

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** The operator API of a running service. Every way to fail ends as a Failure with the exit code that scripts rely on. */
export interface OperatorClient {
  call<T>(method: Method, path: string, body?: object): Promise<T>;
  /** Server-sent events after `lastId`, from the moment this resolves until the connection ends or breaks. */
  events(path: string, lastId?: string): Promise<AsyncIterable<ServerSentEvent>>;
}

export function createOperatorClient(options: OperatorOptions, env = process.env): OperatorClient {
  const token = operatorToken(options.tokenFile, env);
  const base = options.url.replace(/\/+$/, '');
  return {
    async call<T>(method: Method, path: string, body?: object): Promise<T> {
      const answer = await reach(base, path, {
        method,
        headers: {
          Authorization: `Bearer ${token}`,
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(options.timeoutMs),
      });
      const text = await answer.text();
      if (answer.ok) return (text === '' ? undefined : JSON.parse(text)) as T;
      throw refusal(answer, text);
    },
    async events(path, lastId) {
      const answer = await reach(base, path, {
        headers: {
          Authorization: `Bearer ${token}`,
          ...(lastId !== undefined && { 'Last-Event-ID': lastId }),
        },
      });
      if (!answer.ok || answer.body === null) throw refusal(answer, await answer.text());
      return serverSentEvents(answer.body);
    },
  };
}

/** A token on the command line would be seen by everybody on the machine, so it comes from a file or the environment. */
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
    throw new Failure(`the operator token is not in ${file}`, {
      exitCode: EXIT.configuration,
      next: 'run this where the service keeps its data, or give --token-file, OPERATOR_TOKEN or DATA_DIR',
      cause: error,
    });
  }
}

async function reach(base: string, path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(base + path, { ...init, redirect: 'error' });
  } catch (error) {
    const late = error instanceof DOMException && error.name === 'TimeoutError';
    throw new Failure(late ? `${base} did not answer in time` : `nothing answers at ${base}`, {
      exitCode: late ? EXIT.timedOut : EXIT.unreachable,
      next: 'is the service running? Its operator listener is ADMIN_HOST:ADMIN_PORT; name another with --url',
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
  401: 'the token of this service is in its OPERATOR_TOKEN, or in DATA_DIR/operator-token',
  429: 'wait, then try again',
};

function refusal(answer: Response, text: string): Failure {
  const body = errorBody(text);
  const waitMs = parseRetryAfter(answer.headers.get('retry-after'), Date.now());
  return new Failure(body.message ?? body.error ?? `the service answered ${answer.status}`, {
    exitCode: EXIT_OF[answer.status] ?? (answer.status >= 500 ? EXIT.unreachable : EXIT.failed),
    next:
      answer.status === 429 && waitMs !== undefined
        ? `wait ${Math.ceil(waitMs / 1000)} s, then try again`
        : NEXT_OF[answer.status],
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
