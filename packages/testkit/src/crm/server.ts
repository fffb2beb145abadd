import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { notFound } from './responses.ts';
import type { CrmResponse } from './responses.ts';
import { readBody, writeResponse } from './http-bodies.ts';
import type { ReadBody } from './http-bodies.ts';
import { checkToken, checkVersion, RateLimits } from './request-checks.ts';
import type { InjectedFaults } from './injected-faults.ts';
import { fieldsOf, textOf } from './values.ts';
import { findRoute } from './routes.ts';
import type { RouteEntry } from './routes.ts';
import type { Call, Fault, FaultResponse, StatusCall } from './types.ts';
import type { CrmState } from './state.ts';

/**
 * The keep-alive timeout of common gateways. Node accepts one connection per turn of the event loop: on a busy machine, new connections
 * wait for many seconds, and requests that the client has abandoned by then are still executed.
 */
const KEEP_ALIVE_MS = 75_000;

export function createCrmServer(state: CrmState, faults: InjectedFaults): Server {
  const limits = new RateLimits(state.settings, state.now);
  let calls = 0;
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) =>
      response.destroy(Error('CRM failed', { cause: error })),
    );
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  return server;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { call, entry } = recordCall(request);
    const how = faults.take(call);
    if (how !== undefined) call.fault = how;
    if (how === 'reset') {
      request.socket.resetAndDestroy();
      return;
    }
    const read = await readBody(request);
    if (!read) return;
    call.body = read.body;
    const statusCall = entry?.name === 'status' ? recordStatus(call) : undefined;
    if (how === 'hang') return;
    if (how === 'expireToken') state.grants.expireToken(call.headers['authorization']);
    const odd = typeof how === 'object' ? how : {};
    if (odd.delayMs) await sleep(odd.delayMs);
    const result = respondWithFault(how, () => handle(call, entry, read, statusCall));
    if (how === 'dropAnswer') {
      request.socket.destroy();
      return;
    }
    if (odd.answerDelayMs) await sleep(odd.answerDelayMs);
    call.status = result.status;
    call.answeredAt = state.now();
    const { sendsDate, clockAheadMs } = state.settings;
    response.sendDate = sendsDate;
    const date = { Date: new Date(state.now() + clockAheadMs).toUTCString() };
    const headers = { ...(sendsDate && date), ...result.headers };
    await writeResponse(response, { ...result, headers }, odd.slowBodyMs ?? 0);
  }

  function recordCall(request: IncomingMessage): { call: Call; entry: RouteEntry | undefined } {
    const url = new URL(request.url ?? '/', 'http://crm');
    const method = request.method ?? 'GET';
    const found = findRoute(method, url.pathname);
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    const call: Call = {
      n: ++calls,
      at: state.now(),
      method,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers,
      route: found?.entry.name,
      params: found?.params ?? {},
      locationId: state.grants.check(headers['authorization']).identity?.locationId,
      body: undefined,
    };
    if (state.settings.recordCalls) state.calls.push(call);
    return { call, entry: found?.entry };
  }

  /** Records the call before it is handled, because the list is in order of arrival. */
  function recordStatus(call: Call): StatusCall {
    const fields = fieldsOf(call.body);
    const messageGuid = textOf(fields['messageGuid']);
    const recorded: StatusCall = {
      messageId: call.params['messageId'] ?? '',
      status: textOf(fields['status']) ?? '',
      ...('error' in fields ? { error: fields['error'] } : {}),
      ...(messageGuid === undefined ? {} : { messageGuid }),
      locationId: call.locationId,
      at: call.at,
      accepted: false,
    };
    state.statuses.push(recorded);
    return recorded;
  }

  function handle(
    call: Call,
    entry: RouteEntry | undefined,
    read: ReadBody,
    statusCall: StatusCall | undefined,
  ): CrmResponse {
    if (!entry) return notFound(call.method, call.path);
    const request = { call, body: read.form ?? read.body, statusCall };
    if (!entry.access) return read.problem ?? entry.handle(state, { ...request, identity: undefined });
    const versionError = checkVersion(call.headers['version']);
    if (versionError) return versionError;
    const identity = checkToken(state.grants.check(call.headers['authorization']), entry.access);
    if ('status' in identity) return identity;
    const limit = limits.take(identity.locationId ?? identity.companyId ?? '');
    const result = limit.error ?? read.problem ?? entry.handle(state, { ...request, identity });
    return { ...result, headers: { ...limit.headers, ...result.headers } };
  }
}

function respondWithFault(how: Fault | undefined, handle: () => CrmResponse): CrmResponse {
  if (how === 'emptyBody') return { status: 201 };
  if (typeof how !== 'object' || how.status === undefined) return handle();
  if (how.stored) handle();
  return faultResponse(how.status, how);
}

function faultResponse(status: number, { body, retryAfter, headers }: FaultResponse): CrmResponse {
  return {
    status,
    body: body ?? { statusCode: status, message: 'Injected fault.' },
    headers: { ...(retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }), ...headers },
  };
}
