import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { notFound } from './answers.ts';
import type { Answer } from './answers.ts';
import { readBody, reply } from './bodies.ts';
import type { ReadBody } from './bodies.ts';
import { checkBearer, checkVersion, RateLimits } from './gate.ts';
import type { Moods } from './moods.ts';
import { fieldsOf, textOf } from './reading.ts';
import { findRoute } from './routes.ts';
import type { RouteEntry } from './routes.ts';
import type { Call, How, Oddity, StatusCall } from './shapes.ts';
import type { CrmState } from './state.ts';

export function createCrmServer(state: CrmState, moods: Moods): Server {
  const limits = new RateLimits(state.settings, state.now);
  let calls = 0;
  return createServer((request, response) => {
    serve(request, response).catch((error: unknown) =>
      response.destroy(Error('CRM failed', { cause: error })),
    );
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { call, entry } = arrive(request);
    const how = moods.take(call);
    if (how !== undefined) call.mood = how;
    if (how === 'reset') {
      request.socket.resetAndDestroy();
      return;
    }
    const read = await readBody(request);
    if (!read) return;
    call.body = read.body;
    const statusCall = entry?.name === 'status' ? noteStatus(call) : undefined;
    if (how === 'hang') return;
    if (how === 'expireToken') state.grants.expireToken(call.headers['authorization']);
    const odd = typeof how === 'object' ? how : {};
    if (odd.delayMs) await sleep(odd.delayMs);
    const answer = underMood(how, () => behave(call, entry, read, statusCall));
    if (how === 'dropAnswer') {
      request.socket.destroy();
      return;
    }
    if (odd.answerDelayMs) await sleep(odd.answerDelayMs);
    call.status = answer.status;
    call.answeredAt = state.now();
    await reply(response, answer, odd.slowBodyMs ?? 0);
  }

  function arrive(request: IncomingMessage): { call: Call; entry: RouteEntry | undefined } {
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
      locationId: state.grants.present(headers['authorization']).bearer?.locationId,
      body: undefined,
    };
    if (state.settings.recordCalls) state.calls.push(call);
    return { call, entry: found?.entry };
  }

  /** On the record before anything is decided: what matters is the order of arrival. */
  function noteStatus(call: Call): StatusCall {
    const fields = fieldsOf(call.body);
    const noted: StatusCall = {
      messageId: call.params['messageId'] ?? '',
      status: textOf(fields['status']) ?? '',
      ...('error' in fields ? { error: fields['error'] } : {}),
      locationId: call.locationId,
      at: call.at,
      accepted: false,
    };
    state.statuses.push(noted);
    return noted;
  }

  function behave(
    call: Call,
    entry: RouteEntry | undefined,
    read: ReadBody,
    statusCall: StatusCall | undefined,
  ): Answer {
    if (!entry) return notFound(call.method, call.path);
    const asked = { call, body: read.form ?? read.body, statusCall };
    if (!entry.access) return read.problem ?? entry.handle(state, { ...asked, bearer: undefined });
    const wrongVersion = checkVersion(call.headers['version']);
    if (wrongVersion) return wrongVersion;
    const bearer = checkBearer(state.grants.present(call.headers['authorization']), entry.access);
    if ('status' in bearer) return bearer;
    const limit = limits.take(bearer.locationId ?? bearer.companyId ?? '');
    const answer = limit.refusal ?? read.problem ?? entry.handle(state, { ...asked, bearer });
    return { ...answer, headers: { ...limit.headers, ...answer.headers } };
  }
}

function underMood(how: How | undefined, behave: () => Answer): Answer {
  if (how === 'emptyBody') return { status: 201 };
  if (typeof how !== 'object' || how.status === undefined) return behave();
  if (how.stored) behave();
  return oddAnswer(how.status, how);
}

function oddAnswer(status: number, { body, retryAfter, headers }: Oddity): Answer {
  return {
    status,
    body: body ?? { statusCode: status, message: 'The CRM was told to answer like this.' },
    headers: { ...(retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }), ...headers },
  };
}
