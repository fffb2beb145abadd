import { randomBytes } from 'node:crypto';

import { FakeClock } from '@footbridge/testkit/fake-clock';
import { until } from '@footbridge/testkit/until';
import * as fc from 'fast-check';
import { silentLog } from '@footbridge/testkit/silent-log';
import { afterEach, describe, expect, it } from 'vitest';

import { EngineError } from '../../errors.ts';
import { failed, succeeded } from '../../ports/crm/attempt.ts';
import type { Attempt } from '../../ports/crm/attempt.ts';
import { createMemoryChanges } from '../../ports/changes/changes-memory.ts';
import { createSqlGrants } from '../../ports/grants/grants-sql.ts';
import type { Grants } from '../../ports/grants/grants.ts';
import { createVault } from '../../ports/grants/vault.ts';
import { openDatabase } from '../../sql/open-database.ts';
import type { OpenDatabase } from '../../sql/open-database.ts';
import type { InstallOutcome } from './install-app.ts';
import { createPrivateTokens, privateTokenCheck } from './private-tokens.ts';
import type { IssuedTokens, LocationPage, TokenEndpoint } from './token-endpoint.ts';
import { createTokens } from './tokens.ts';
import type { Tokens } from './tokens.ts';

const DAY_SEC = 86_400;
const DAY_MS = DAY_SEC * 1000;

/** A token endpoint whose refresh tokens work once, like the real one's. */
class Endpoint implements TokenEndpoint {
  refreshes = 0;
  mints = 0;
  result: Attempt<IssuedTokens> | undefined;
  /** Runs between request and response. */
  pause: () => Promise<unknown> = async () => {};
  keepsRefreshToken = false;
  #valid = new Set<string>();
  #count = 0;

  issue(locationId: string | null = 'loc1', companyId: string | null = null): IssuedTokens {
    const number = ++this.#count;
    const refreshToken = `refresh-${number}`;
    this.#valid.add(refreshToken);
    return {
      accessToken: `access-${number}`,
      refreshToken: this.keepsRefreshToken ? null : refreshToken,
      expiresInSec: DAY_SEC,
      userType: locationId === null ? 'Company' : 'Location',
      companyId,
      locationId,
      approvedLocations: [],
    };
  }

  async exchange(): Promise<Attempt<IssuedTokens>> {
    return succeeded(this.issue());
  }

  async refresh(refreshToken: string): Promise<Attempt<IssuedTokens>> {
    this.refreshes++;
    await this.pause();
    if (this.result !== undefined) return this.result;
    const works = this.#valid.has(refreshToken);
    if (!this.keepsRefreshToken) this.#valid.delete(refreshToken);
    return works
      ? succeeded(this.issue())
      : failed('invalid', { retryable: false, reason: '400 Invalid grant: refresh token is invalid' });
  }

  async mint(_token: string, companyId: string, locationId: string): Promise<Attempt<IssuedTokens>> {
    this.mints++;
    return succeeded(this.issue(locationId, companyId));
  }

  async installedLocations(
    ..._given: Parameters<TokenEndpoint['installedLocations']>
  ): Promise<Attempt<LocationPage>> {
    return page(['locA', 'locB']);
  }
}

interface SetUp {
  clock: FakeClock;
  endpoint: Endpoint;
  grants: Grants;
  tokens: Tokens;
  /** Another process on the same store. */
  another: () => Tokens;
  authorise: () => Promise<void>;
}

const open: OpenDatabase[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((database) => database.close()));
});

async function setUp(
  wrap: (grants: Grants) => Grants = (grants) => grants,
  thresholdSec = 300,
): Promise<SetUp> {
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  open.push(database);
  const clock = new FakeClock();
  const endpoint = new Endpoint();
  const grants = wrap(createSqlGrants({ database, clock, vault: createVault([randomBytes(32)]) }));
  const changes = createMemoryChanges(silentLog);
  const another = () =>
    createTokens({
      oauth: { grants, endpoint, thresholdSec },
      privateToken: undefined,
      changes,
      clock,
      log: silentLog,
      failpoint: undefined,
    });
  const authorise = async () => {
    const { accessToken, refreshToken } = endpoint.issue();
    const expiresAt = clock.now() + DAY_MS;
    await grants.store({
      kind: 'location',
      ownerId: 'loc1',
      companyId: null,
      accessToken,
      refreshToken,
      expiresAt,
    });
  };
  return { clock, endpoint, grants, tokens: another(), another, authorise };
}

const page = (locations: string[], nextSkip?: number): Attempt<LocationPage> =>
  succeeded({ locations, nextSkip });
const ask = (tokens: Tokens) => Promise.resolve(tokens.bearer('loc1', 'oauth'));
const bearerOf = (token: string) => ({ authorization: `Bearer ${token}` });

describe('the token of a location', () => {
  it('A6 is missing without a grant, and available as soon as there is one', async () => {
    const { tokens, endpoint, clock } = await setUp();
    expect(await ask(tokens)).toEqual({ missing: 'none' });
    await tokens.install('code');
    expect(await ask(tokens)).toEqual({ authorization: 'Bearer access-1' });
    await clock.advance(DAY_MS / 2);
    expect(tokens.bearer('loc1', 'oauth')).toEqual({ authorization: 'Bearer access-1' });
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
    expect(await tokens.renew('loc1', 'oauth', bearerOf('access-2'))).toEqual({ missing: 'away' });
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
    ['away', 'a network failure'],
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
    expect(await ask(tokens)).toEqual({ missing: 'away' });
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
    const { tokens, authorise } = await setUp(slow);
    await authorise();
    const reading = ask(tokens);
    await tokens.appEvents?.handle({ type: 'UNINSTALL', locationId: 'loc1', companyId: null, at: undefined });
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
    expect(await ask(tokens)).toEqual({ missing: 'away' });
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
    expect(await tokens.renew('loc1', 'oauth', bearerOf('access-1'))).toEqual({ missing: 'away' });
    expect(await ask(tokens)).toEqual({ missing: 'away' });
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
    expect(await waiting).toEqual({ missing: 'away' });
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

describe('an authorisation', () => {
  it('O9 of a company stores the tokens of its locations', async () => {
    const { tokens, endpoint, grants } = await setUp();
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    expect(await tokens.install('code')).toEqual({
      kind: 'company',
      companyId: 'comp1',
      locations: expect.arrayContaining(['locA', 'locB']),
      failed: [],
      later: 0,
    });
    const stored = await grants.list();
    expect(stored.map(({ kind, ownerId }) => `${kind} ${ownerId}`)).toEqual([
      'company comp1',
      'location locA',
      'location locB',
    ]);
  });

  it('O9 of a company repeats the request for its locations, and fails when they remain unknown', async () => {
    const { tokens, endpoint, clock } = await setUp();
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    const pages: Attempt<LocationPage>[] = [failed('away'), page(['locA'])];
    endpoint.installedLocations = async () => pages.shift() ?? failed('away');
    const install = async () => {
      const outcome = tokens.install('code');
      for (let second = 0; second < 8; second++) await clock.advance(1000);
      return outcome;
    };
    expect(await install()).toMatchObject({ kind: 'company', locations: ['locA'] });
    expect(await install()).toEqual({ kind: 'failed' });
    pages.push(page([]));
    expect(await install()).toMatchObject({ kind: 'company', locations: [] });
  });

  it('O9 of a company reads its locations page by page, and repeats a page that fails', async () => {
    const { tokens, endpoint, clock } = await setUp();
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    const skips: number[] = [];
    const pages = [page(['locA'], 100), failed('away'), page(['locB'])];
    endpoint.installedLocations = async (_token, _company, skip) => {
      skips.push(skip);
      return pages.shift() ?? failed('away');
    };
    const installed = tokens.install('code');
    for (let second = 0; second < 8; second++) await clock.advance(1000);
    expect(await installed).toMatchObject({
      kind: 'company',
      locations: expect.arrayContaining(['locA', 'locB']),
    });
    expect(skips).toEqual([0, 100, 100]);
  });

  it('O9 of a company is answered in time when it has many locations, and continues', async () => {
    const { tokens, endpoint, clock, grants } = await setUp();
    const locations = Array.from({ length: 6 }, (_, index) => `loc${index}`);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const mint = endpoint.mint.bind(endpoint);
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    endpoint.installedLocations = async () => page(locations);
    endpoint.mint = async (...args) => {
      if (args[2] === 'loc5') await held;
      return mint(...args);
    };
    const outcome = tokens.install('code');
    await clock.advance(1);
    await clock.advance(8000);
    expect(await outcome).toMatchObject({ kind: 'company', later: 1, failed: [] });
    release();
    await until(async () => (await grants.find('location', 'loc5'))?.state === 'active');
  });

  it('O9 of a company is answered in time while many locations are being recorded', async () => {
    let recorded = 0;
    const { clock, endpoint, tokens } = await setUp((real) => ({
      ...real,
      async expect(event) {
        recorded++;
        await clock.sleep(10);
        return real.expect(event);
      },
    }));
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    endpoint.installedLocations = async () => page(Array.from({ length: 2000 }, (_, index) => `loc${index}`));
    let outcome: InstallOutcome | undefined;
    void tokens.install('code').then((result) => (outcome = result));
    await until(() => recorded > 0);
    await clock.advance(8000);
    expect(outcome).toMatchObject({ kind: 'company', locations: [], failed: [], later: 2000 });
  });

  it('O9 of a company requests the tokens of each location once, also while expected ones are served', async () => {
    const { tokens, endpoint, clock, grants } = await setUp();
    const requested: string[] = [];
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    endpoint.mint = async (_token, companyId, locationId) => {
      if (requested.push(locationId) <= 2) await held;
      return succeeded(endpoint.issue(locationId, companyId));
    };
    const outcome = tokens.install('code');
    await until(() => requested.length === 2);
    await clock.advance(8000);
    expect(await outcome).toMatchObject({ later: 2 });
    await tokens.appEvents?.serveExpected();
    release();
    await until(async () => (await grants.expected(0)).length === 0);
    expect(requested).toEqual(['locA', 'locB']);
  });

  it('O9 of a company is completed by the next process after a restart', async () => {
    const { tokens, another, endpoint, clock, grants } = await setUp();
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    const mint = endpoint.mint.bind(endpoint);
    endpoint.mint = () => new Promise(() => {});
    const outcome = tokens.install('code');
    await until(async () => (await grants.expected(0)).length === 2);
    await clock.advance(8000);
    expect(await outcome).toMatchObject({ kind: 'company', locations: [], later: 2 });
    endpoint.mint = mint;
    await another().appEvents?.serveExpected();
    expect(await grants.ofLocations(['locA', 'locB'])).toMatchObject([
      { state: 'active', companyId: 'comp1' },
      { state: 'active', companyId: 'comp1' },
    ]);
  });

  it('O9 of a company does not claim a location that was announced without its company', async () => {
    const { tokens, endpoint, grants } = await setUp();
    await grants.expect({ kind: 'location', ownerId: 'other', companyId: null, at: undefined });
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    endpoint.mint = async () => failed('refused', { retryable: false, reason: '400 not installed' });
    expect(await tokens.install('code')).toMatchObject({
      failed: expect.arrayContaining(['locA', 'locB', 'other']),
    });
    expect(await grants.find('location', 'other')).toMatchObject({ state: 'expected', companyId: null });
  });

  it('A6 of a company leaves a location for which the CRM issues no tokens without any', async () => {
    const { tokens, endpoint, grants, clock } = await setUp();
    const results = new Map([
      ['locA', failed('refused', { retryable: false, reason: '400 not installed' })],
      ['locB', failed('away', { reason: '503' })],
    ]);
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    endpoint.mint = async (_token, _company, locationId) => results.get(locationId) ?? failed('away');
    const outcome = tokens.install('code');
    for (let second = 0; second < 8; second++) await clock.advance(1000);
    expect(await outcome).toMatchObject({ failed: expect.arrayContaining(['locA', 'locB']) });
    expect(await tokens.bearer('locA', 'oauth')).toEqual({ missing: 'none' });
    expect(await grants.find('location', 'locA')).toBeUndefined();
    expect(await grants.find('location', 'locB')).toMatchObject({ state: 'expected' });
  });

  it('O9 of a company stores all tokens although the database failed to record the locations', async () => {
    let failures = 1;
    const { tokens, endpoint } = await setUp((real) => ({
      ...real,
      expect: (event) =>
        failures-- > 0 ? Promise.reject(new EngineError('sql', 'away')) : real.expect(event),
    }));
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    expect(await tokens.install('code')).toMatchObject({
      kind: 'company',
      locations: expect.arrayContaining(['locA', 'locB']),
      failed: [],
    });
  });

  it('O9 of a company continues after the database fails, and the location it failed for is served later', async () => {
    const full = new Set(['locA']);
    const { tokens, endpoint, grants } = await setUp((real) => ({
      ...real,
      store: (grant) =>
        full.delete(grant.ownerId) ? Promise.reject(new EngineError('sql', 'full')) : real.store(grant),
    }));
    const locations = ['locA', ...Array.from({ length: 6 }, (_, index) => `loc${index}`)];
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    endpoint.installedLocations = async () => page(locations);
    expect(await tokens.install('code')).toMatchObject({
      locations: expect.arrayContaining(locations.slice(1)),
      failed: ['locA'],
      later: 0,
    });
    await tokens.appEvents?.serveExpected();
    expect(await grants.find('location', 'locA')).toMatchObject({ state: 'active' });
  });

  it.each([
    ['rejected by the CRM', failed('invalid', { retryable: false, reason: '401' }), 'rejected'],
    ['not answered by the CRM', failed('away', { reason: '503' }), 'failed'],
  ] as const)('O5 whose code is %s ends as %3$s', async (_what, result, kind) => {
    const { tokens, endpoint } = await setUp();
    endpoint.exchange = async () => result;
    expect(await tokens.install('code')).toEqual({ kind });
  });
});

describe('private integration tokens', () => {
  const own = (stored: Record<string, string> = {}) => ({
    privateToken: async (locationId: string) => stored[locationId],
  });

  it('O10 belong to one location; the operator overrides the settings', async () => {
    const privateToken = createPrivateTokens({
      single: undefined,
      byLocation: new Map([
        ['loc1', 'pit-settings'],
        ['loc2', 'pit-two'],
      ]),
      grants: own({ loc1: 'pit-operator' }),
      knownLocations: async () => 5,
      log: silentLog,
    });
    expect(await privateToken('loc1')).toBe('pit-operator');
    expect(await privateToken('loc2')).toBe('pit-two');
    expect(await privateToken('loc3')).toBeUndefined();
  });

  it('O10 a single one serves while one location is known, which is logged once', async () => {
    let locations = 1;
    const events: unknown[] = [];
    const log = (fields: object) => events.push('event' in fields && fields.event);
    const privateToken = createPrivateTokens({
      single: 'pit-one',
      byLocation: new Map(),
      grants: undefined,
      knownLocations: async () => locations,
      log: { ...silentLog, info: log, warn: log },
    });
    expect(await privateToken('loc1')).toBe('pit-one');
    await privateToken('loc1');
    expect(events).toEqual(['private_token.single_used']);
    locations = 2;
    expect(await privateToken('loc1')).toBeUndefined();
    expect(events.at(-1)).toBe('private_token.single_ignored');
    await privateToken('loc2');
    expect(events).toHaveLength(2);
  });

  it('O10 are shown for the locations that they serve', async () => {
    const check = (single: string | undefined, locations: number) =>
      privateTokenCheck({
        single,
        byLocation: new Map([['loc1', 'pit-settings']]),
        grants: { privateTokens: async () => [{ locationId: 'loc2', updatedAt: 0, isReadable: true }] },
        knownLocations: async () => locations,
      });
    const served = (has: (locationId: string) => boolean) => ['loc1', 'loc2', 'loc3'].filter(has);
    expect(served(await check(undefined, 1))).toEqual(['loc1', 'loc2']);
    expect(served(await check('pit-one', 1))).toEqual(['loc1', 'loc2', 'loc3']);
    expect(served(await check('pit-one', 2))).toEqual(['loc1', 'loc2']);
  });

  it('I4 serve only calls that do not require OAuth, and never beside it', async () => {
    const { clock } = await setUp();
    const changes = { announce: async () => {}, listen: () => () => {} };
    const common = { changes, clock, log: silentLog, failpoint: undefined };
    const privateOnly = createTokens({ ...common, oauth: undefined, privateToken: async () => 'pit-1' });
    expect(await privateOnly.bearer('loc1', 'any')).toEqual(bearerOf('pit-1'));
    expect(await privateOnly.bearer('loc1', 'oauth')).toEqual({ missing: 'none' });
    expect(await privateOnly.renew('loc1', 'any', bearerOf('pit-1'))).toEqual({ missing: 'reauth_required' });
    const neither = createTokens({ ...common, oauth: undefined, privateToken: undefined });
    expect(await neither.bearer('loc1', 'any')).toEqual({ missing: 'none' });
  });
});
