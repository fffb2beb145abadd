import { FakeClock } from '@footbridge/testkit/fake-clock';
import { describe, expect, it } from 'vitest';

import type { Bearer, NoBearer } from './tokens.ts';
import { failed, succeeded, backoff, retry } from '../../platform/retry/retry.ts';
import type { FailedAttempt, SendGuard } from '../../platform/retry/retry.ts';
import { createCrmClient } from './crm-client.ts';
import type { CrmCall, CrmClientDeps } from './crm-client.ts';
import type { HttpRequest, HttpResponse, NoResponse } from './transport-http.ts';

const CALL: CrmCall<string> = {
  operation: 'status',
  locationId: 'loc',
  bearer: 'oauth',
  method: 'PUT',
  path: '/conversations/messages/m/status',
  body: '{"status":"pending"}',
  read: (text) => succeeded(text),
};

const response = (status: number, body: object = {}, headers: Record<string, string> = {}): HttpResponse => ({
  status,
  headers: new Map(Object.entries(headers)),
  text: JSON.stringify(body),
});
const LOST: NoResponse = { status: 0, reason: 'timeout', sent: true };
const TOO_NEW = response(403, { message: 'No conversation provider found for this message' });

/** The client on a transport that returns `responses` in turn, the last one for ever. */
function setUp(
  responses: (HttpResponse | NoResponse)[],
  tokens: Partial<CrmClientDeps['tokens']['value']> = {},
  callsPer10Sec = 90,
) {
  const clock = new FakeClock();
  const sent: (HttpRequest & { at: number })[] = [];
  const failures: (FailedAttempt & { attempts: number })[] = [];
  const cancelled = new AbortController();
  let token = 'token-1';
  const client = createCrmClient({
    apiVersion: '2021-07-28',
    transport: {
      async send(request) {
        sent.push({ ...request, at: clock.monotonic() });
        return (responses.length > 1 ? responses.shift() : responses[0]) ?? LOST;
      },
      async close() {},
    },
    host: 'https://crm.example/base/',
    tokens: {
      value: {
        bearer: async () => ({ authorization: `Bearer ${token}` }),
        renew: async () => ({ authorization: `Bearer ${(token = 'token-2')}` }),
        ...tokens,
      },
    },
    clock,
    callsPer10Sec,
  });
  const { signal } = cancelled;
  /** The client with its retry loop, which stops after `most` failures. */
  const call = (most = 100, more: Partial<CrmCall<string>> = {}, guard: SendGuard = {}) => {
    let seen = 0;
    return retry({
      attempt: (previous) =>
        client.attempt({ ...CALL, ...more }, { previous, cancellation: cancelled, ...guard }),
      policy: (failure, progress) => {
        if (failure.kind === 'token_expired') return backoff(failure, progress);
        failures.push({ ...failure, attempts: progress.attempts });
        return ++seen < most ? backoff(failure, progress) : undefined;
      },
      clock,
      random: () => 1,
      isWanted: () => !signal.aborted,
      cancellation: cancelled,
    });
  };
  return {
    clock,
    sent,
    failures,
    call,
    attempt: (guard: SendGuard = {}, more: Partial<CrmCall<string>> = {}) =>
      client.attempt({ ...CALL, ...more }, guard),
    cancel: () => cancelled.abort(),
    gaps: () => sent.slice(1).map(({ at }, index) => at - (sent[index]?.at ?? 0)),
  };
}

describe('one attempt', () => {
  it('an attempt sends one request, whatever the response', async () => {
    for (const one of [response(200), response(401), response(429), response(503), response(404), LOST]) {
      const { attempt, sent, clock } = setUp([one]);
      await attempt();
      await clock.advance(60_000);
      expect(sent).toHaveLength(1);
    }
  });

  it('I7 an attempt carries the token and Version, and goes to the configured host', async () => {
    const { attempt, sent } = setUp([response(200)]);
    expect(await attempt()).toEqual({ ok: true, value: '{}' });
    expect(sent[0]).toMatchObject({
      origin: 'https://crm.example',
      path: '/base/conversations/messages/m/status',
    });
    const { headers = [] } = sent[0] ?? {};
    const pairs = Object.fromEntries(
      headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1]]] : [])),
    );
    expect(pairs).toEqual({
      authorization: 'Bearer token-1',
      version: '2021-07-28',
      accept: 'application/json',
      'content-type': 'application/json',
    });
  });

  it('A11 an attempt is cancelled when the lease is no longer held', async () => {
    const { attempt, sent } = setUp([response(200)]);
    expect(await attempt({ fence: async () => false })).toMatchObject({
      kind: 'cancelled',
      retryable: false,
    });
    expect(sent).toEqual([]);
    expect(await attempt({ fence: async () => true })).toMatchObject({ ok: true });
  });

  it('A11 an attempt checks the lease after the wait for the rate limit', async () => {
    const { attempt, clock, sent } = setUp([response(200)], {}, 1);
    await attempt();
    let isHeld = true;
    const queued = attempt({ fence: async () => isHeld });
    await clock.advance(5000);
    isHeld = false;
    await clock.advance(5000);
    expect(await queued).toMatchObject({ kind: 'cancelled' });
    expect(sent).toHaveLength(1);
  });

  it('an attempt is cancelled while it waits for the rate limit', async () => {
    const { attempt, clock, sent } = setUp([response(200)], {}, 1);
    await attempt();
    const stop = new AbortController();
    const queued = attempt({ cancellation: stop });
    await clock.advance(100);
    stop.abort();
    expect(await queued).toMatchObject({ kind: 'cancelled' });
    await clock.advance(20_000);
    expect(sent).toHaveLength(1);
  });

  it('an attempt without a token fails and sends no request', async () => {
    for (const missing of ['none', 'reauth_required', 'unavailable'] as const) {
      const { attempt, sent } = setUp([response(200)], {
        bearer: async (): Promise<NoBearer> => ({ missing }),
      });
      expect(await attempt()).toEqual(failed(missing, { unsent: true }));
      expect(sent).toEqual([]);
    }
  });

  it('an attempt returns the value that a rejection contains', async () => {
    const { attempt } = setUp([response(400, { existing: 'x' })]);
    const readError = (text: string) => (JSON.parse(text) as { existing?: string }).existing;
    expect(await attempt({}, { readError })).toEqual({ ok: true, value: 'x' });
  });

  it('an attempt names the network error of a lost response, and whether the request was sent', async () => {
    const { attempt } = setUp([{ status: 0, reason: 'network', sent: false, code: 'ECONNREFUSED' }]);
    expect(await attempt()).toMatchObject({ kind: 'network', code: 'ECONNREFUSED', inDoubt: false });
  });
});

describe('a call with its retries', () => {
  it('A11 a call waits while the lease store is unavailable', async () => {
    const { call, sent, clock } = setUp([response(200)]);
    let isAvailable = false;
    const fence = async () => {
      if (!isAvailable) throw new Error('away');
      return true;
    };
    const result = call(100, {}, { fence });
    await clock.advance(2000);
    expect(sent).toEqual([]);
    isAvailable = true;
    await clock.advance(1000);
    expect(await result).toMatchObject({ ok: true });
  });

  it.each([[response(500)], [response(503)], [response(408)], [response(425)], [response(302)], [LOST]])(
    'A11 a call is retried with growing delays after %o',
    async (failure) => {
      const { call, clock, gaps, failures } = setUp([failure, failure, failure, response(200)]);
      const result = call();
      await clock.advance(20_000);
      expect(await result).toMatchObject({ ok: true });
      expect(gaps()).toEqual([500, 1000, 2000]);
      expect(failures.map(({ attempts }) => attempts)).toEqual([1, 2, 3]);
    },
  );

  it('A11 a call waits at most half a minute between two attempts', async () => {
    const { call, clock, gaps, cancel } = setUp([response(500)]);
    const result = call();
    await clock.advance(400_000);
    cancel();
    await clock.advance(0);
    expect(await result).toMatchObject({ kind: 'cancelled' });
    expect(Math.max(...gaps().slice(0, 10))).toBe(30_000);
  });

  it.each([400, 404, 409, 410, 422])('A11 a call is not retried after %i', async (status) => {
    const { call, sent, failures } = setUp([response(status, { message: 'No way' })]);
    expect(await call()).toMatchObject({ kind: 'refused', retryable: false, status, reason: 'No way' });
    expect([sent.length, failures.length]).toEqual([1, 0]);
  });

  it('A11 honours Retry-After in seconds and as a date, and the interval the CRM names', async () => {
    const clock = new FakeClock();
    const date = new Date(clock.now() + 7000).toUTCString();
    for (const [headers, waitMs] of [
      [{ 'retry-after': '3' }, 3000],
      [{ 'retry-after': date }, 7000],
      [{ 'x-ratelimit-interval-milliseconds': '10000' }, 10_000],
      [{}, 1000],
    ] as const) {
      const one = setUp([response(429, {}, headers), response(200)]);
      const result = one.call();
      await one.clock.advance(15_000);
      expect(await result).toMatchObject({ ok: true });
      expect(one.gaps()).toEqual([waitMs]);
    }
  });

  it('A11 a call is retried after 2, 4, 8, 16 and 30 s when the message is too new, with the same token', async () => {
    let renewals = 0;
    const { call, clock, gaps } = setUp([TOO_NEW], {
      renew: async () => {
        renewals++;
        return { authorization: 'Bearer x' };
      },
    });
    const result = call(6);
    await clock.advance(100_000);
    expect(await result).toMatchObject({ kind: 'not_yet', status: 403 });
    expect(gaps()).toEqual([2000, 4000, 8000, 16_000, 30_000]);
    expect(renewals).toBe(0);
  });

  it.each(['Invalid JWT', 'Invalid token: access token is invalid', 'The token has expired', ''])(
    'A11 a call is repeated once with a renewed token after 401 %s',
    async (message) => {
      const { call, sent, failures } = setUp([response(401, { message }), response(200)]);
      expect(await call()).toMatchObject({ ok: true });
      expect(sent.map(({ headers }) => headers[1])).toEqual(['Bearer token-1', 'Bearer token-2']);
      expect(failures).toEqual([]);
    },
  );

  it('A11 a call does not renew the token twice in a row', async () => {
    const { call, sent } = setUp([response(401, { message: 'Invalid JWT' })]);
    expect(await call(1)).toMatchObject({ kind: 'token_refused', retryable: true });
    expect(sent).toHaveLength(2);
  });

  it.each([
    [401, 'The token is not authorized for this scope.'],
    [401, "Token's user type mismatch!"],
    [401, 'This authClass type is not allowed to access this scope. Ask the team.'],
    [401, 'version header was not found.'],
    [401, 'No message found for the id'],
    [403, 'The token does not have access to this location.'],
  ])('A11 a call does not renew the token after %i %s', async (status, message) => {
    const { call, sent } = setUp([response(status, { message })]);
    expect(await call()).toMatchObject({ kind: 'refused', status });
    expect(sent).toHaveLength(1);
  });

  it('A11 a call is classified by the message of the CRM before it is redacted', async () => {
    const body = JSON.stringify({ status: 'failed', error: { code: 'x', message: 'this message' } });
    const { call, clock } = setUp([TOO_NEW, response(200)]);
    const result = call(5, { body });
    await clock.advance(2000);
    expect(await result).toMatchObject({ ok: true });
  });

  it('a call is in doubt when its response was lost: the CRM may have acted on it', async () => {
    const { call, clock, failures } = setUp([LOST, response(200)]);
    const result = call();
    await clock.advance(1000);
    expect(await result).toMatchObject({ ok: true });
    expect(failures).toMatchObject([{ kind: 'timeout', inDoubt: true }]);
  });

  it.each([408, 500, 502, 503, 504, 520, 522, 524])(
    'I9 a call is in doubt after %d: the CRM may have acted on it',
    async (status) => {
      const { attempt } = setUp([response(status)]);
      expect(await attempt()).toMatchObject({ kind: 'http', retryable: true, inDoubt: true });
    },
  );

  it.each([302, 400, 404, 422, 425, 429])(
    'I9 a call is not in doubt after %d: the CRM did not act on it',
    async (status) => {
      const { attempt } = setUp([response(status)]);
      expect(await attempt()).not.toHaveProperty('inDoubt', true);
    },
  );

  it('I6 a call returns how long ago the location accepted a change, whatever it has read since', async () => {
    const { attempt, clock } = setUp([response(200), response(200), response(500)]);
    await attempt();
    await clock.advance(60_000);
    expect(await attempt({}, { method: 'GET' })).toMatchObject({ ok: true });
    expect(await attempt()).toMatchObject({ locationOkMsAgo: 60_000 });
  });

  it('I1 a call is retried when a 2xx does not say that the message was stored', async () => {
    const { call, clock } = setUp([response(201), response(201, { id: 'x' })]);
    const result = call(5, {
      read: (text) => {
        const { id } = JSON.parse(text) as { id?: string };
        return id === undefined ? failed('empty') : succeeded(id);
      },
    });
    await clock.advance(1000);
    expect(await result).toEqual({ ok: true, value: 'x' });
  });

  it('a cancelled call sends nothing', async () => {
    const { call, clock, sent, cancel } = setUp([response(500)]);
    const result = call();
    await clock.advance(100);
    cancel();
    expect(await result).toMatchObject({ kind: 'cancelled' });
    await clock.advance(60_000);
    expect(sent).toHaveLength(1);
  });

  it('the reason of a failed call has no text, token or number that was sent', async () => {
    const body = JSON.stringify({ message: 'a secret text', contactId: 'contact-77' });
    const message =
      'Cannot store "a secret text" of contact-77 (+1 415 555 0100, jo@example.com) with token-1\u001b[2J\nnew line';
    const { call } = setUp([response(422, { message: [message, 'second'] })]);
    const result = await call(1, { body });
    const { reason } = result as { reason: string };
    for (const secret of ['secret', 'contact-77', '415', 'jo@', 'token-1', '\u001b', '\n'])
      expect(reason).not.toContain(secret);
    expect(reason).toContain('Cannot store');
    expect(reason.length).toBeLessThanOrEqual(160);
  });
});

describe('many calls to the CRM', () => {
  it('calls are at most 90 in ten seconds per location', async () => {
    const { call, clock, sent } = setUp([response(200)]);
    const all = Promise.all(Array.from({ length: 200 }, () => call()));
    await clock.advance(0);
    expect(sent).toHaveLength(81);
    const elsewhere = call(1, { locationId: 'another' });
    await clock.advance(0);
    expect(await elsewhere).toMatchObject({ ok: true });
    const urgent = Promise.all(Array.from({ length: 20 }, () => call(1, { isUrgent: true })));
    await clock.advance(9_999);
    expect(sent).toHaveLength(91);
    await clock.advance(1);
    expect(sent).toHaveLength(91 + 81);
    await urgent;
    await clock.advance(20_000);
    expect(sent).toHaveLength(221);
    await all;
  });

  it('urgent calls take precedence over 500 queued ones', async () => {
    const { call, clock, failures } = setUp([response(200)], {}, 10);
    const queued = Array.from({ length: 509 }, () => call(1));
    await clock.advance(0);
    expect(await call(1, { isUrgent: true })).toMatchObject({ ok: true });
    expect(failures).toEqual([]);
    await clock.advance(10_000 * 60);
    await Promise.all(queued);
  });

  it('a call fails at once when 500 are queued', async () => {
    const { call, clock, failures } = setUp([response(200)], {}, 1);
    const calls = Array.from({ length: 510 }, () => call(1));
    await clock.advance(0);
    expect(failures.map(({ kind }) => kind)).toEqual(Array.from({ length: 9 }, () => 'crowded'));
    await clock.advance(10_000 * 510);
    await Promise.all(calls);
  });

  it('all calls of a location wait when the CRM asks for it', async () => {
    const { call, clock, sent } = setUp([response(429, {}, { 'retry-after': '5' }), response(200)]);
    const first = call();
    await clock.advance(0);
    const second = call();
    await clock.advance(4_999);
    expect(sent).toHaveLength(1);
    await clock.advance(1);
    await Promise.all([first, second]);
    expect(sent).toHaveLength(3);
  });

  it('calls stop after twenty failures in a row, except for one probe', async () => {
    const responses = [...Array.from({ length: 20 }, () => response(500)), response(200)];
    const { call, clock, sent, failures } = setUp(responses);
    await Promise.all(Array.from({ length: 20 }, () => call(0)));
    const waiting = Array.from({ length: 5 }, () => call(1000));
    await clock.advance(9_000);
    expect(sent).toHaveLength(20);
    expect(failures.at(-1)?.kind).toBe('circuit');
    await clock.advance(1_000);
    expect(sent.filter(({ at }) => at === 10_000).length).toBeGreaterThanOrEqual(1);
    await clock.advance(5_000);
    await Promise.all(waiting);
    expect(sent).toHaveLength(25);
  });

  it('one probe is sent at a time, although the lease checks of several calls overlap', async () => {
    const { attempt, sent, clock } = setUp([response(500)]);
    for (let failures = 0; failures < 20; failures++) await attempt();
    await clock.advance(10_000);
    const fence = async () => true;
    const results = await Promise.all([attempt({ fence }), attempt({ fence }), attempt()]);
    expect(sent).toHaveLength(21);
    expect(results.map((result) => 'kind' in result && result.kind)).toEqual(['http', 'circuit', 'circuit']);
  });

  it('a failed call reports when another call of the location succeeded', async () => {
    const { call, clock, failures, cancel } = setUp([response(500), response(200), response(500)]);
    const failing = call();
    await clock.advance(100);
    await call();
    await clock.advance(600);
    expect(failures.map(({ locationOkMsAgo }) => locationOkMsAgo)).toEqual([Number.POSITIVE_INFINITY, 400]);
    cancel();
    await failing;
  });
});

describe('the token', () => {
  it('the token is read again for every attempt', async () => {
    const tokens = ['a', 'b', 'c'];
    const bearer = async (): Promise<Bearer> => ({ authorization: `Bearer ${tokens.shift() ?? ''}` });
    const { call, clock, sent } = setUp([response(500), response(500), response(200)], { bearer });
    const result = call();
    await clock.advance(5000);
    await result;
    expect(sent.map(({ headers }) => headers[1])).toEqual(['Bearer a', 'Bearer b', 'Bearer c']);
  });
});
