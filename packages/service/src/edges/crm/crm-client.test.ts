import { describe, expect, it } from 'vitest';

import { FakeClock } from '../../fake-clock.ts';
import { createCrmClient } from './crm-client.ts';
import type { Bearer, Bearers, Call, NoBearer, Setback } from './crm-client.ts';
import type { HttpRequest, HttpResponse, NoResponse } from './transport.ts';

const CALL: Call = {
  operation: 'status',
  locationId: 'loc',
  bearer: 'oauth',
  method: 'PUT',
  path: '/conversations/messages/m/status',
  body: '{"status":"pending"}',
};

const answer = (status: number, body: object = {}, headers: Record<string, string> = {}): HttpResponse => ({
  status,
  headers: new Map(Object.entries(headers)),
  text: JSON.stringify(body),
});
const LOST: NoResponse = { status: 0, reason: 'timeout', sent: true };
const NOT_YET = answer(403, { message: 'No conversation provider found for this message' });

/** The client on a line that answers as told, the last answer for ever. */
function line(answers: (HttpResponse | NoResponse)[], bearers?: Partial<Bearers>, callsPer10Sec = 90) {
  const clock = new FakeClock();
  const sent: (HttpRequest & { at: number })[] = [];
  const setbacks: Setback[] = [];
  let wake = () => {};
  let wanted = true;
  const client = createCrmClient({
    transport: {
      async send(request) {
        sent.push({ ...request, at: clock.monotonic() });
        return (answers.length > 1 ? answers.shift() : answers[0]) ?? LOST;
      },
      async close() {},
    },
    host: 'https://crm.example/base/',
    bearers: {
      bearer: () => ({ authorization: 'Bearer token-1' }),
      renew: async () => ({ authorization: 'Bearer token-2' }),
      ...bearers,
    },
    clock,
    callsPer10Sec,
    random: () => 1,
  });
  const patience = (most = 100) => ({
    wanted: () => wanted,
    again: (setback: Setback) => setbacks.push(setback) < most,
    waiting: (ring: () => void) => {
      wake = ring;
    },
  });
  return {
    clock,
    sent,
    setbacks,
    call: (most?: number, more: Partial<Call> = {}) => client.call({ ...CALL, ...more }, patience(most)),
    callIf: (confirmed: () => boolean | Promise<boolean>) => client.call(CALL, { ...patience(), confirmed }),
    loseInterest: () => {
      wanted = false;
      wake();
    },
    gaps: () => sent.slice(1).map(({ at }, index) => at - (sent[index]?.at ?? 0)),
  };
}

describe('a call to the CRM', () => {
  it('I7 carries bearer and Version, and goes where the host says', async () => {
    const { call, sent } = line([answer(200)]);
    expect(await call()).toMatchObject({ kind: 'ok', status: 200, inDoubt: false });
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

  it('A11 does not go out in the name of a lease that is history', async () => {
    const { callIf, sent } = line([answer(200)]);
    expect(await callIf(() => false)).toEqual({ kind: 'unwanted' });
    expect(await callIf(async () => false)).toEqual({ kind: 'unwanted' });
    expect(sent).toEqual([]);
    expect(await callIf(async () => true)).toMatchObject({ kind: 'ok' });
  });

  it('A11 waits while nobody can tell whose the location is', async () => {
    const { callIf, sent, clock } = line([answer(200)]);
    let known = false;
    const outcome = callIf(async () => {
      if (!known) throw new Error('away');
      return true;
    });
    await clock.advance(2000);
    expect(sent).toEqual([]);
    known = true;
    await clock.advance(1000);
    expect(await outcome).toMatchObject({ kind: 'ok' });
  });

  it.each([[answer(500)], [answer(503)], [answer(408)], [answer(425)], [answer(302)], [LOST]])(
    'A11 tries again with growing pauses after %o',
    async (trouble) => {
      const { call, clock, gaps, setbacks } = line([trouble, trouble, trouble, answer(200)]);
      const outcome = call();
      await clock.advance(20_000);
      expect(await outcome).toMatchObject({ kind: 'ok' });
      expect(gaps()).toEqual([500, 1000, 2000]);
      expect(setbacks.map(({ attempts }) => attempts)).toEqual([1, 2, 3]);
    },
  );

  it('A11 waits at most half a minute between two tries, with jitter', async () => {
    const { call, clock, gaps, loseInterest } = line([answer(500)]);
    const outcome = call();
    await clock.advance(400_000);
    loseInterest();
    await clock.advance(0);
    expect(await outcome).toEqual({ kind: 'unwanted' });
    expect(Math.max(...gaps().slice(0, 10))).toBe(30_000);
  });

  it.each([400, 404, 409, 410, 422])('A11 takes %i for the last word', async (status) => {
    const { call, sent, setbacks } = line([answer(status, { message: 'No way' })]);
    expect(await call()).toMatchObject({ kind: 'refused', status, reason: 'No way' });
    expect([sent.length, setbacks.length]).toEqual([1, 0]);
  });

  it('A11 honours Retry-After, in seconds and as a date, and the interval the CRM names', async () => {
    const clock = new FakeClock();
    const date = new Date(clock.now() + 7000).toUTCString();
    for (const [headers, pause] of [
      [{ 'retry-after': '3' }, 3000],
      [{ 'retry-after': date }, 7000],
      [{ 'x-ratelimit-interval-milliseconds': '10000' }, 10_000],
      [{}, 1000],
    ] as const) {
      const one = line([answer(429, {}, headers), answer(200)]);
      const outcome = one.call();
      await one.clock.advance(15_000);
      expect(await outcome).toMatchObject({ kind: 'ok' });
      expect(one.gaps()).toEqual([pause]);
    }
  });

  it('A11 tries at 2, 4, 8, 16 and 30 s when the message is too new, and leaves the token alone', async () => {
    let renewals = 0;
    const { call, clock, gaps } = line([NOT_YET], {
      renew: async () => {
        renewals++;
        return { authorization: 'Bearer x' };
      },
    });
    const outcome = call(6);
    await clock.advance(100_000);
    expect(await outcome).toMatchObject({ kind: 'given_up', setback: { cause: 'not_yet', attempts: 6 } });
    expect(gaps()).toEqual([2000, 4000, 8000, 16_000, 30_000]);
    expect(renewals).toBe(0);
  });

  it.each(['Invalid JWT', 'Invalid token: access token is invalid', 'The token has expired', ''])(
    'A11 refreshes once and tries once more after 401 %s',
    async (message) => {
      const { call, sent, setbacks } = line([answer(401, { message }), answer(200)]);
      expect(await call()).toMatchObject({ kind: 'ok' });
      expect(sent.map(({ headers }) => headers[1])).toEqual(['Bearer token-1', 'Bearer token-2']);
      expect(setbacks).toEqual([]);
    },
  );

  it('A11 does not refresh for ever', async () => {
    const { call, sent } = line([answer(401, { message: 'Invalid JWT' })]);
    expect(await call(1)).toMatchObject({ kind: 'given_up', setback: { cause: 'token_refused' } });
    expect(sent).toHaveLength(2);
  });

  it.each([
    [401, 'The token is not authorized for this scope.'],
    [401, "Token's user type mismatch!"],
    [401, 'This authClass type is not allowed to access this scope. Ask the team.'],
    [401, 'version header was not found.'],
    [401, 'No message found for the id'],
    [403, 'The token does not have access to this location.'],
  ])('A11 %i %s is not healed by a refresh', async (status, message) => {
    const { call, sent } = line([answer(status, { message })]);
    expect(await call()).toMatchObject({ kind: 'refused', status });
    expect(sent).toHaveLength(1);
  });

  it('A11 reads the CRM rightly also when its words are ones we sent', async () => {
    const body = JSON.stringify({ status: 'failed', error: { code: 'x', message: 'this message' } });
    const { call, clock } = line([NOT_YET, answer(200)]);
    const outcome = call(5, { body });
    await clock.advance(2000);
    expect(await outcome).toMatchObject({ kind: 'ok' });
  });

  it('makes no call without a bearer', async () => {
    for (const missing of ['none', 'reauth_required', 'away'] as const) {
      const { call, sent } = line([answer(200)], { bearer: (): NoBearer => ({ missing }) });
      expect(await call(1)).toMatchObject({ kind: 'given_up', setback: { cause: missing, attempts: 0 } });
      expect(sent).toEqual([]);
    }
  });

  it('says when the CRM may have acted on a request whose answer was lost', async () => {
    const { call, clock } = line([LOST, answer(200)]);
    const outcome = call();
    await clock.advance(1000);
    expect(await outcome).toMatchObject({ kind: 'ok', inDoubt: true });
  });

  it('I1 takes a success that does not say so for a failure', async () => {
    const { call, clock } = line([answer(201), answer(201, { id: 'x' })]);
    const outcome = call(5, { read: (text) => (JSON.parse(text) as { id?: string }).id });
    await clock.advance(1000);
    expect(await outcome).toMatchObject({ kind: 'ok', text: 'x' });
  });

  it('sends nothing more once nobody wants it', async () => {
    const { call, clock, sent, loseInterest } = line([answer(500)]);
    const outcome = call();
    await clock.advance(100);
    loseInterest();
    expect(await outcome).toEqual({ kind: 'unwanted' });
    await clock.advance(60_000);
    expect(sent).toHaveLength(1);
  });

  it('keeps what we sent, tokens and numbers out of the reason', async () => {
    const body = JSON.stringify({ message: 'a secret text', contactId: 'contact-77' });
    const message =
      'Cannot store "a secret text" of contact-77 (+1 415 555 0100, jo@example.com) with token-1\u001b[2J\nnew line';
    const { call } = line([answer(422, { message: [message, 'second'] })]);
    const outcome = await call(1, { body });
    const { reason } = outcome as { reason: string };
    for (const secret of ['secret', 'contact-77', '415', 'jo@', 'token-1', '\u001b', '\n'])
      expect(reason).not.toContain(secret);
    expect(reason).toContain('Cannot store');
    expect(reason.length).toBeLessThanOrEqual(160);
  });
});

describe('many calls to the CRM', () => {
  it('are at most 90 in ten seconds and location', async () => {
    const { call, clock, sent } = line([answer(200)]);
    const all = Promise.all(Array.from({ length: 200 }, () => call()));
    await clock.advance(0);
    expect(sent).toHaveLength(81);
    const elsewhere = call(1, { locationId: 'another' });
    await clock.advance(0);
    expect(await elsewhere).toMatchObject({ kind: 'ok' });
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

  it('go ahead of a crowd when somebody waits for the answer', async () => {
    const { call, clock, setbacks } = line([answer(200)], {}, 10);
    const crowd = Array.from({ length: 509 }, () => call(1));
    await clock.advance(0);
    expect(await call(1, { isUrgent: true })).toMatchObject({ kind: 'ok' });
    expect(setbacks).toEqual([]);
    await clock.advance(10_000 * 60);
    await Promise.all(crowd);
  });

  it('are turned away when too many wait already', async () => {
    const { call, clock, setbacks } = line([answer(200)], {}, 1);
    const calls = Array.from({ length: 510 }, () => call(1));
    await clock.advance(0);
    expect(setbacks.map(({ cause }) => cause)).toEqual(Array.from({ length: 9 }, () => 'crowded'));
    await clock.advance(10_000 * 510);
    await Promise.all(calls);
  });

  it('pause for the whole location when the CRM says it is too much', async () => {
    const { call, clock, sent } = line([answer(429, {}, { 'retry-after': '5' }), answer(200)]);
    const first = call();
    await clock.advance(0);
    const second = call();
    await clock.advance(4_999);
    expect(sent).toHaveLength(1);
    await clock.advance(1);
    await Promise.all([first, second]);
    expect(sent).toHaveLength(3);
  });

  it('stop after twenty failures in a row, and one goes to see', async () => {
    const answers = [...Array.from({ length: 20 }, () => answer(500)), answer(200)];
    const { call, clock, sent, setbacks } = line(answers);
    await Promise.all(Array.from({ length: 20 }, () => call(0)));
    const waiting = Array.from({ length: 5 }, () => call(1000));
    await clock.advance(9_000);
    expect(sent).toHaveLength(20);
    expect(setbacks.at(-1)?.cause).toBe('circuit');
    await clock.advance(1_000);
    expect(sent.filter(({ at }) => at === 10_000).length).toBeGreaterThanOrEqual(1);
    await clock.advance(5_000);
    await Promise.all(waiting);
    expect(sent).toHaveLength(25);
  });

  it('tell a call apart that fails while others pass', async () => {
    const { call, clock, setbacks, loseInterest } = line([answer(500), answer(200), answer(500)]);
    const failing = call();
    await clock.advance(100);
    await call();
    await clock.advance(600);
    expect(setbacks.map(({ othersPass }) => othersPass)).toEqual([false, true]);
    loseInterest();
    await failing;
  });
});

describe('a bearer that changes', () => {
  it('is asked for anew at every attempt', async () => {
    const tokens = ['a', 'b', 'c'];
    const bearer = (): Bearer => ({ authorization: `Bearer ${tokens.shift() ?? ''}` });
    const { call, clock, sent } = line([answer(500), answer(500), answer(200)], { bearer });
    const outcome = call();
    await clock.advance(5000);
    await outcome;
    expect(sent.map(({ headers }) => headers[1])).toEqual(['Bearer a', 'Bearer b', 'Bearer c']);
  });
});
