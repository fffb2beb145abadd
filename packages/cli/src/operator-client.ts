import type { IncomingMessage } from 'node:http';

import { changesSomething, requestOf } from '@footbridge/protocol/operator/call';
import type { Arguments, Call, CallRequest, ResponseOf } from '@footbridge/protocol/operator/call';
import { readJson } from '@footbridge/protocol/read-json';
import { parseRetryAfter } from '@footbridge/protocol/retry-after';
import { checkAgainst } from '@footbridge/protocol/schema';
import { errorCode } from '@footbridge/runtime/error-code';

import { EXIT, CliError } from './cli-error.ts';
import { httpRequest } from './http-request.ts';
import { BodyTooLargeError, readIncoming } from './read-bounded.ts';
import { serverSentEvents } from './server-sent-events.ts';
import type { ServerSentEvent } from './server-sent-events.ts';
import type { ServiceTarget } from './service-target.ts';

/** A list of 10,000 tenants takes 20 MB. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/** Client of the operator API. Every method rejects with a CliError that has the matching exit code. */
export interface OperatorClient {
  /** The address of the operator listener. */
  readonly url: string;
  /** Makes a call of the operator API. The response has the type of its definition. */
  ask<const C extends Call>(definition: C, ...input: Arguments<C>): Promise<ResponseOf<C>>;
  /** Subscribes to server-sent events after `lastId`. Resolves once subscribed; the iteration ends with the connection. */
  events(path: string, lastId?: string): Promise<AsyncIterable<ServerSentEvent>>;
}

/** `beforeChange` is called before each request that changes something, and ends a dry run. */
export function createOperatorClient(
  target: ServiceTarget,
  timeoutMs: number,
  beforeChange: (change: string) => void = () => {},
): OperatorClient {
  const token = target.token();

  async function send({ method, path, body }: CallRequest) {
    const init = {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    const { response, text } = await withDeadline(target, timeoutMs, async (signal) => {
      const received = await httpRequest(target.url + path, { ...init, signal });
      return { response: received, text: await readIncoming(received, MAX_RESPONSE_BYTES) };
    });
    if (!isOk(response)) throw toError(target, response, text);
    return { status: response.statusCode, json: readJson(text) };
  }

  return {
    url: target.url,
    async ask<const C extends Call>(definition: C, ...[input = {}]: readonly [object?]) {
      const request = requestOf(definition, { ...input });
      if (changesSomething(definition))
        beforeChange(`call ${request.method} ${request.path} of ${target.url}`);
      const { status, json } = await send(request);
      if (definition.response === undefined && status === 204) return undefined as ResponseOf<C>;
      const checked = checkAgainst(definition.response ?? NOTHING, json);
      if (checked.ok) return checked.value as ResponseOf<C>;
      throw unexpected(target, request, checked.reason);
    },
    async events(path, lastId) {
      const headers = {
        Authorization: `Bearer ${token}`,
        ...(lastId !== undefined && { 'Last-Event-ID': lastId }),
      };
      const response = await withDeadline(target, timeoutMs, (signal) =>
        httpRequest(target.url + path, { headers, signal }),
      );
      if (!isOk(response))
        throw toError(
          target,
          response,
          await withDeadline(target, timeoutMs, () => readIncoming(response, MAX_RESPONSE_BYTES)),
        );
      if (response.headers['content-type']?.startsWith('text/event-stream') !== true) {
        response.destroy();
        throw notFootbridge(target);
      }
      return serverSentEvents(response);
    },
  };
}

const isOk = ({ statusCode = 0 }: IncomingMessage): boolean => statusCode >= 200 && statusCode < 300;

/** Ends `work` after the deadline. Its result, such as an event stream, is not affected. */
async function withDeadline<T>(
  { url, urlFrom }: ServiceTarget,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), timeoutMs);
  try {
    return await work(deadline.signal);
  } catch (error) {
    const service = `the service at ${url} (${urlFrom})`;
    if (error instanceof BodyTooLargeError)
      throw new CliError(`${error.message}, so ${url} (${urlFrom}) is probably not a Footbridge service`, {
        exitCode: EXIT.unreachable,
        next: WHICH_PORT,
        cause: error,
      });
    const timedOut = deadline.signal.aborted;
    throw new CliError(
      timedOut ? `${service} did not respond in time` : `cannot connect to ${service}${reason(error)}`,
      {
        exitCode: timedOut ? EXIT.timedOut : EXIT.unreachable,
        next: 'check that it is running; for another service run this in its folder, pass --profile or --url, or set ADMIN_HOST and ADMIN_PORT to its values',
        cause: error,
      },
    );
  } finally {
    clearTimeout(timer);
  }
}

/** The error code of the network, such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`. */
function reason(error: unknown): string {
  const code = errorCode(error);
  return code === undefined ? '' : `: ${code}`;
}

const WHICH_PORT =
  'use the port of the operator listener, ADMIN_PORT (4610 by default); the public listener (4600) is for the CRM and the Macs';

const notFootbridge = ({ url, urlFrom }: ServiceTarget): CliError =>
  new CliError(`${url} (${urlFrom}) is not the operator listener of a Footbridge service`, {
    exitCode: EXIT.unreachable,
    next: WHICH_PORT,
  });

/** Matches no value: the call has no response. */
const NOTHING = { anyOf: [], description: 'absent' } as const;

const unexpected = ({ url, urlFrom }: ServiceTarget, { method, path }: CallRequest, why: string): CliError =>
  new CliError(
    `${url} (${urlFrom}) is not the operator listener of a Footbridge service of this version: in its response to ${method} ${path.split('?')[0]} ${why}`,
    { exitCode: EXIT.unreachable, next: WHICH_PORT },
  );

const EXIT_OF: Readonly<Record<number, number>> = {
  401: EXIT.notAuthorised,
  403: EXIT.notAuthorised,
  404: EXIT.notFound,
  429: EXIT.rateLimited,
};

function toError(target: ServiceTarget, response: IncomingMessage, text: string): CliError {
  const { url, tokenFrom } = target;
  const { statusCode: status = 0, headers } = response;
  const body = errorBody(text);
  // The operator API names a code and says what was not found. The 404 of the public listener has no message.
  const isUnknownPath = status === 404 && (body.code === undefined || body.message === undefined);
  if (status < 400 || isUnknownPath) return notFootbridge(target);
  const delayMs = status === 429 ? parseRetryAfter(headers['retry-after'], Date.now()) : undefined;
  return new CliError(body.message ?? body.error ?? `the service responded with HTTP ${status}`, {
    exitCode: EXIT_OF[status] ?? (status >= 500 ? EXIT.unreachable : EXIT.failed),
    next: nextStep(),
    code: body.code,
  });

  function nextStep(): string | undefined {
    if (status === 401)
      return `the service at ${url} does not accept the token from ${tokenFrom}; run this in the folder of that service, or pass --token-file`;
    if (status !== 429) return undefined;
    return delayMs === undefined
      ? 'wait, then try again'
      : `wait ${Math.ceil(delayMs / 1000)} s, then try again`;
  }
}

function errorBody(text: string): { error?: string; code?: string; message?: string } {
  const fields = Object.entries(Object(readJson(text))).filter(([, value]) => typeof value === 'string');
  return Object.fromEntries(fields);
}
