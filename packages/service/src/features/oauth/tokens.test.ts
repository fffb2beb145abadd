import { until } from '@footbridge/testkit/until';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import { failed, succeeded } from '../../platform/retry/retry.ts';
import type { Grants } from './grants-sql.ts';
import { bearerOf, DAY_MS, DAY_SEC, setUp } from './tokens.fixture.ts';
import type { Tokens } from './tokens.ts';

const ask = (tokens: Tokens) => tokens.bearer('loc1', 'oauth');

describe('the token of a location', () => {
  it('A6 is missing without a grant, and available as soon as there is one', async () => {
    const { tokens, endpoint, clock } = await setUp();
    expect(await ask(tokens)).toEqual({ missing: 'none' });
    await tokens.install('code');
    expect(await ask(tokens)).toEqual({ authorization: 'Bearer access-1' });
    await clock.advance(DAY_MS / 2);
    expect(await tokens.bearer('loc1', 'oauth')).toEqual({ authorization: 'Bearer access-1' });
    expect(endpoint.refreshes).toBe(0);
  });

  it('O7 is refreshed before it expires, by the threshold', async () => {
    const { tokens, endpoint, clock, authorise } = await setUp();
    await authorise();
    await clock.advance(DAY_MS - 300_001);
    expect(await ask(tokens)).toEqual({ authorization: 'Bearer access-1' });
    await clock.advance(1);
    expect(await ask(tokens)).toEqual({ authorization: 'Bearer access-2' });
    expect(endpoint.refreshes).toBe(1);
  });

  it('O7 is refreshed by the threshold even when that is most of its lifetime, or all of it', async () => {
    for (const [lifeSec, waitMs] of [
      [310, 10_000],
      [200, 0],
    ] as const) {
      const { tokens, endpoint, clock, grants } = await setUp();
      const expiresAt = clock.now() + lifeSec * 1000;
      await grants.store({ kind: 'location', ownerId: 'loc1', ...endpoint.issue(), expiresAt });
      if (waitMs > 0) expect(await ask(tokens)).toEqual(bearerOf('access-1'));
      await clock.advance(waitMs);
      expect(await ask(tokens)).toEqual(bearerOf('access-2'));
      expect(await ask(tokens)).toEqual(bearerOf('access-2'));
      expect(endpoint.refreshes).toBe(1);
    }
  });

  it('O7 is not refreshed all the time when the threshold exceeds its lifetime', async () => {
    const { tokens, endpoint, authorise, clock } = await setUp((grants) => grants, 10 * DAY_SEC);
    await authorise();
    for (let index = 0; index < 5; index++) await ask(tokens);
    expect(endpoint.refreshes).toBe(1);
    await clock.advance(DAY_MS / 2 - 1000);
    await ask(tokens);
    expect(endpoint.refreshes).toBe(1);
    await clock.advance(2000);
    for (let index = 0; index < 5; index++) await ask(tokens);
    expect(endpoint.refreshes).toBe(2);
  });

  it('O7 is never taken from a response for another location', async () => {
    const { tokens, endpoint, authorise, clock, grants } = await setUp();
    await authorise();
    endpoint.result = succeeded(endpoint.issue('loc2'));
    await clock.advance(DAY_MS - 200_000);
    expect(await ask(tokens)).toEqual(bearerOf('access-1'));
    expect(await grants.find('location', 'loc1')).toMatchObject({
      state: 'active',
      accessToken: 'access-1',
      lastError: 'the CRM returned tokens of another location',
    });
  });

  it('O7 is refreshed once for fifty callers of two processes', async () => {
    const { tokens, another, endpoint, clock, authorise } = await setUp();
    await authorise();
    const second = another();
    await Promise.all([ask(tokens), ask(second)]);
    await clock.advance(DAY_MS);
    endpoint.pause = () => new Promise((resolve) => setTimeout(resolve, 20));
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => ask(n % 2 === 0 ? tokens : second)),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer)))).toEqual(
      new Set(['{"authorization":"Bearer access-2"}']),
    );
    expect(endpoint.refreshes).toBe(1);
  });

  it('O7 is refreshed once for all callers whose token was rejected', async () => {
    const { tokens, endpoint, authorise } = await setUp();
    await authorise();
    await ask(tokens);
    const all = await Promise.all(
      Array.from({ length: 20 }, () => tokens.renew('loc1', 'oauth', bearerOf('access-1'))),
    );
    expect(new Set(all.map((one) => 'authorization' in one && one.authorization))).toEqual(
      new Set(['Bearer access-2']),
    );
    expect(await tokens.renew('loc1', 'oauth', bearerOf('access-1'))).toEqual(bearerOf('access-2'));
    expect(endpoint.refreshes).toBe(1);
  });

  it('O7 is not refreshed again within two seconds when the new one is rejected too', async () => {
    const { tokens, endpoint, authorise, clock } = await setUp();
    await authorise();
    await ask(tokens);
    await tokens.renew('loc1', 'oauth', bearerOf('access-1'));
    expect(await tokens.renew('loc1', 'oauth', bearerOf('access-2'))).toEqual({ missing: 'unavailable' });
    expect(endpoint.refreshes).toBe(1);
    await clock.advance(2000);
    expect(await tokens.renew('loc1', 'oauth', bearerOf('access-2'))).toEqual(bearerOf('access-3'));
  });

  it('O7 keeps its refresh token when the response has none', async () => {
    const { tokens, endpoint, authorise, clock, grants } = await setUp();
    await authorise();
    endpoint.keepsRefreshToken = true;
    for (const number of [2, 3]) {
      await clock.advance(DAY_MS);
      expect(await ask(tokens)).toEqual(bearerOf(`access-${number}`));
    }
    expect((await grants.find('location', 'loc1'))?.refreshToken).toBe('refresh-1');
  });

  it.each([
    ['unavailable', 'a network failure'],
    ['inactive', 'a paused location'],
    ['refused', 'wrong client credentials'],
  ] as const)('O8 is used until it expires when a refresh ends as %s (%s)', async (kind, _what) => {
    const { tokens, endpoint, authorise, clock, grants } = await setUp();
    await authorise();
    endpoint.result = failed(kind, { reason: 'trouble' });
    await clock.advance(DAY_MS - 200_000);
    expect(await ask(tokens)).toEqual(bearerOf('access-1'));
    expect(await ask(tokens)).toEqual(bearerOf('access-1'));
    expect(endpoint.refreshes).toBe(1);
    await clock.advance(200_000);
    expect(await ask(tokens)).toEqual({ missing: 'unavailable' });
    expect(await grants.find('location', 'loc1')).toMatchObject({ state: 'active', lastError: 'trouble' });
    endpoint.result = undefined;
    await clock.advance(6000);
    expect(await ask(tokens)).toEqual(bearerOf('access-2'));
  });

  it('O8 is not available after its grant was revoked, until the location is authorised again', async () => {
    const { tokens, endpoint, authorise, clock, grants } = await setUp();
    await authorise();
    await ask(tokens);
    endpoint.result = failed('invalid', { retryable: false, reason: '400 Invalid grant' });
    expect(await tokens.renew('loc1', 'oauth', bearerOf('access-1'))).toEqual({ missing: 'reauth_required' });
    await clock.advance(60_000);
    expect(await ask(tokens)).toEqual({ missing: 'reauth_required' });
    expect(endpoint.refreshes).toBe(1);
    expect(await grants.list()).toMatchObject([{ state: 'reauth_required', lastError: '400 Invalid grant' }]);
    endpoint.result = undefined;
    await tokens.install('code');
    expect(await ask(tokens)).toMatchObject({ authorization: expect.stringMatching(/access-/) });
    expect(await grants.find('location', 'loc1')).toMatchObject({ state: 'active', lastError: null });
  });

  it('O8 is read from the store again before its grant counts as revoked', async () => {
    const { tokens, endpoint, authorise, grants } = await setUp();
    await authorise();
    await ask(tokens);
    endpoint.pause = async () => {
      // Another process refreshed in spite of the lock, for example on a restored store.
      const now = await grants.find('location', 'loc1');
      if (now?.accessToken === 'access-1')
        await grants.store({ ...now, accessToken: 'won', refreshToken: 'r' });
    };
    endpoint.result = failed('invalid', { retryable: false, reason: '400 Invalid grant' });
    expect(await tokens.renew('loc1', 'oauth', bearerOf('access-1'))).toEqual(bearerOf('won'));
    expect(await grants.find('location', 'loc1')).toMatchObject({ state: 'active' });
  });

  it('E3 is not kept when the app is uninstalled while it is being read', async () => {
    const { promise: read, resolve: finish } = Promise.withResolvers<void>();
    const slow = (grants: Grants): Grants => ({
      ...grants,
      async find(...key) {
        const grant = await grants.find(...key);
        await read;
        return grant;
      },
    });
    const { tokens, authorise, clock } = await setUp(slow);
    await authorise();
    const reading = ask(tokens);
    const event = { type: 'UNINSTALL', locationId: 'loc1', companyId: null, at: clock.now() };
    await tokens.appEvents?.handle({ ...event, isRepeat: false });
    finish();
    await reading;
    expect(await ask(tokens)).toEqual({ missing: 'reauth_required' });
  });

  it('is served from memory until it expires while the store is unavailable', async () => {
    let away = false;
    const failing = (grants: Grants): Grants => ({
      ...grants,
      find: (...key) => (away ? Promise.reject(new EngineError('sql', 'away')) : grants.find(...key)),
    });
    const { tokens, authorise, clock } = await setUp(failing);
    await authorise();
    await ask(tokens);
    away = true;
    await clock.advance(DAY_MS - 100_000);
    expect(await ask(tokens)).toEqual(bearerOf('access-1'));
    await clock.advance(100_000);
    expect(await ask(tokens)).toEqual({ missing: 'unavailable' });
    away = false;
    await clock.advance(6000);
    expect(await ask(tokens)).toEqual(bearerOf('access-2'));
  });

  it('A11 is unavailable, not refused, after the CRM rejected it while the store was unavailable', async () => {
    let away = false;
    const failing = (grants: Grants): Grants => ({
      ...grants,
      exclusively: (...given) =>
        away ? Promise.reject(new EngineError('sql', 'away')) : grants.exclusively(...given),
    });
    const { tokens, authorise, clock } = await setUp(failing);
    await authorise();
    await ask(tokens);
    away = true;
    expect(await tokens.renew('loc1', 'oauth', bearerOf('access-1'))).toEqual({ missing: 'unavailable' });
    expect(await ask(tokens)).toEqual({ missing: 'unavailable' });
    away = false;
    await clock.advance(6000);
    expect(await ask(tokens)).toEqual(bearerOf('access-1'));
    expect(await tokens.renew('loc1', 'oauth', bearerOf('access-1'))).toEqual(bearerOf('access-2'));
  });

  it('O7 is kept in memory when it cannot be saved, and saved later', async () => {
    let full = true;
    const failing = (grants: Grants): Grants => ({
      ...grants,
      store: (grant) => (full ? Promise.reject(new EngineError('sql', 'full')) : grants.store(grant)),
      exclusively: (kind, owner, work) =>
        grants.exclusively(kind, owner, (grant, commit) =>
          work(grant, (fresh) => (full ? Promise.reject(new Error('disk full')) : commit(fresh))),
        ),
    });
    const { tokens, clock, grants, endpoint } = await setUp(failing);
    full = false;
    await grants.store({
      kind: 'location',
      ownerId: 'loc1',
      ...endpoint.issue(),
      expiresAt: clock.now() + 1000,
    });
    full = true;
    await clock.advance(1000);
    expect(await ask(tokens)).toEqual(bearerOf('access-2'));
    await clock.advance(3000);
    expect((await grants.find('location', 'loc1'))?.accessToken).toBe('access-1');
    expect(await ask(tokens)).toEqual(bearerOf('access-2'));
    full = false;
    await clock.advance(1500);
    expect(await grants.find('location', 'loc1')).toMatchObject({
      accessToken: 'access-2',
      refreshToken: 'refresh-2',
    });
  });

  it('O7 is stored before a stop ends when it is being refreshed, and no further refresh begins', async () => {
    const { tokens, endpoint, grants, clock, authorise } = await setUp();
    await authorise();
    await clock.advance(DAY_MS);
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    endpoint.pause = () => answered;
    const refreshed = ask(tokens);
    await until(() => endpoint.refreshes === 1);
    const waiting = tokens.renew('loc1', 'oauth', bearerOf('access-2'));
    const closed = tokens.close().then(() => grants.find('location', 'loc1'));
    answer();
    expect(await closed).toMatchObject({ accessToken: 'access-2', refreshToken: 'refresh-2' });
    expect(await refreshed).toEqual(bearerOf('access-2'));
    expect(await waiting).toEqual({ missing: 'unavailable' });
    expect(endpoint.refreshes).toBe(1);
  });

  it('O7 is stored by a stop when it could not be saved before', async () => {
    let full = true;
    const failing = (grants: Grants): Grants => ({
      ...grants,
      exclusively: (kind, owner, work) =>
        grants.exclusively(kind, owner, (grant, commit) =>
          work(grant, (fresh) => (full ? Promise.reject(new Error('disk full')) : commit(fresh))),
        ),
    });
    const { tokens, grants, clock, authorise } = await setUp(failing);
    await authorise();
    await clock.advance(DAY_MS);
    expect(await ask(tokens)).toEqual(bearerOf('access-2'));
    full = false;
    await tokens.close();
    expect(await grants.find('location', 'loc1')).toMatchObject({ refreshToken: 'refresh-2' });
  });

  it('O9 is issued by the company again when its own grant was revoked', async () => {
    const { tokens, endpoint, grants, clock } = await setUp();
    const company = endpoint.issue(null, 'comp1');
    const expiresAt = clock.now() + DAY_MS;
    await grants.store({ kind: 'company', ownerId: 'comp1', ...company, expiresAt });
    await grants.store({
      kind: 'location',
      ownerId: 'loc1',
      companyId: 'comp1',
      accessToken: 'spent',
      refreshToken: 'dead',
      expiresAt: clock.now() - 1,
    });
    expect(await ask(tokens)).toEqual(bearerOf('access-2'));
    expect(endpoint.mints).toBe(1);
    expect(await grants.find('location', 'loc1')).toMatchObject({ state: 'active', accessToken: 'access-2' });
  });

  it('O7 is refreshed once per expiry, in any order of events', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.integer({ min: 2, max: 12 }), async (scheduler, callers) => {
        const { tokens, another, endpoint, clock, authorise } = await setUp();
        await authorise();
        const processes = [tokens, another(), another()];
        await Promise.all(processes.map(ask));
        await clock.advance(DAY_MS);
        endpoint.pause = () => scheduler.schedule(Promise.resolve(), 'the endpoint thinks');
        const asked = Array.from({ length: callers }, async (_, index) => {
          await scheduler.schedule(Promise.resolve(), `caller ${index} comes`);
          const mine = processes[index % 3] ?? tokens;
          return index % 4 === 3 ? mine.renew('loc1', 'oauth', bearerOf('access-1')) : ask(mine);
        });
        const all = Promise.all(asked);
        await scheduler.waitFor(all);
        expect(new Set((await all).map((one) => JSON.stringify(one)))).toEqual(
          new Set(['{"authorization":"Bearer access-2"}']),
        );
        expect(endpoint.refreshes).toBe(1);
      }),
      { numRuns: 25 },
    );
  });
});
