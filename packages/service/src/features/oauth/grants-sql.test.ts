import { randomBytes } from 'node:crypto';

import { FakeClock } from '@footbridge/testkit/fake-clock';
import { until } from '@footbridge/testkit/until';
import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';

import { onBothDatabases } from '../../platform/sql/on-both-databases.fixture.ts';
import type { OpenDatabase } from '../../platform/sql/open-database.ts';
import { createGrants } from './grants-sql.ts';
import type { Grants, NewGrant, Refusal } from './grants-sql.ts';
import { createVault } from './vault.ts';

const GRANT = {
  kind: 'location',
  ownerId: 'loc1',
  companyId: 'comp1',
  accessToken: 'access-canary-1',
  refreshToken: 'refresh-canary-1',
  expiresAt: 2_000_000_000_000,
} as const;

const EVENT = { kind: 'location', ownerId: 'loc1', companyId: 'comp1' } as const;

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, index) =>
    permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]),
  );
}

onBothDatabases('grants', (open, engine, openAgain) => {
  const keys = [randomBytes(32)];
  let database: OpenDatabase;
  let clock: FakeClock;
  /** One for each process that shares the database. */
  let all: Grants[];
  let grants: Grants;

  beforeEach(async () => {
    database = await open();
    clock = new FakeClock();
    const shared = engine === 'postgres' ? [await openAgain(database)] : [];
    const vault = createVault(keys);
    grants = createGrants({ database, clock, vault });
    all = [grants, ...shared.map((other) => createGrants({ database: other, clock, vault }))];
  });

  const [GRANT_KIND, OWNER] = [GRANT.kind, GRANT.ownerId];
  const find = () => grants.find(GRANT_KIND, OWNER);
  const stores = async (grant: NewGrant) => (await grants.store(grant)) ?? expect.fail('not stored');

  it('a stored grant is found', async () => {
    await grants.store(GRANT);
    expect(await find()).toMatchObject({ ...GRANT, state: 'active', lastError: null });
    expect(await grants.find('company', OWNER)).toBeUndefined();
  });

  it('O6 the database contains no readable token', async () => {
    await grants.store(GRANT);
    await grants.setPrivateToken('loc1', 'pit-canary-1');
    for (const table of ['oauth_grants', 'private_tokens']) {
      const { rows } = await sql`select * from ${sql.table(table)}`.execute(database.db);
      expect(rows).toHaveLength(1);
      expect(JSON.stringify(rows)).not.toContain('canary');
    }
  });

  it('O6 a ciphertext copied from another row is rejected', async () => {
    await grants.store(GRANT);
    await grants.store({ ...GRANT, ownerId: 'loc2', accessToken: 'other' });
    const { db } = database;
    const { access_token: copied } = await db
      .selectFrom('oauth_grants')
      .select('access_token')
      .where('owner_id', '=', 'loc2')
      .executeTakeFirstOrThrow();
    await db
      .updateTable('oauth_grants')
      .set({ access_token: copied })
      .where('owner_id', '=', 'loc1')
      .execute();
    expect(await find()).toMatchObject({ state: 'unreadable', accessToken: '' });
  });

  it('O6 the next refresh encrypts with the newest key', async () => {
    await grants.store(GRANT);
    const newer = randomBytes(32);
    const rotated = createGrants({
      database,
      clock,
      vault: createVault([newer, ...keys]),
    });
    await rotated.exclusively(GRANT_KIND, OWNER, (_grant, commit) =>
      commit({ ...GRANT, accessToken: 'second' }),
    );
    const onlyNewer = createGrants({ database, clock, vault: createVault([newer]) });
    expect(await onlyNewer.find(GRANT_KIND, OWNER)).toMatchObject({ accessToken: 'second' });
  });

  it('O8 a failed grant is active again after a new authorisation', async () => {
    const stored = await stores(GRANT);
    await grants.recordFailure(stored, { state: 'reauth_required', lastError: 'invalid_grant' });
    expect(await find()).toMatchObject({ state: 'reauth_required', lastError: 'invalid_grant' });
    await grants.store({ ...GRANT, accessToken: 'again' });
    expect(await find()).toMatchObject({ state: 'active', lastError: null, accessToken: 'again' });
  });

  it('O8 a failure of a grant that was refreshed after it was read is ignored', async () => {
    const stale = await stores(GRANT);
    await grants.exclusively(GRANT_KIND, OWNER, (_grant, commit) => commit({ ...GRANT, accessToken: 'new' }));
    await grants.recordFailure(stale, { state: 'reauth_required', lastError: 'invalid_grant' });
    expect(await find()).toMatchObject({ state: 'active', accessToken: 'new' });
  });

  it('O7 one refresh runs at a time, each with the tokens that the previous one stored', async () => {
    await grants.store(GRANT);
    let running = 0;
    let maxRunning = 0;
    const seen: string[] = [];
    const refresh = (through: Grants) =>
      through.exclusively(GRANT_KIND, OWNER, async (grant, commit) => {
        maxRunning = Math.max(maxRunning, ++running);
        seen.push(grant.accessToken);
        await new Promise((resolve) => setTimeout(resolve, 5));
        const saved = await commit({ ...grant, accessToken: `${grant.accessToken}+` });
        running--;
        return saved;
      });
    await Promise.all(Array.from({ length: 12 }, (_, index) => refresh(all[index % all.length] ?? grants)));
    expect(maxRunning).toBe(1);
    expect(seen).toEqual(Array.from({ length: 12 }, (_, index) => GRANT.accessToken + '+'.repeat(index)));
    expect((await find())?.accessToken).toBe(GRANT.accessToken + '+'.repeat(12));
  });

  it('O7 a refresh does not block other grants', async () => {
    await grants.store(GRANT);
    await grants.store({ ...GRANT, ownerId: 'loc2' });
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const first = grants.exclusively(GRANT_KIND, OWNER, () => held);
    await grants.exclusively(GRANT_KIND, 'loc2', (_grant, commit) =>
      commit({ ...GRANT, accessToken: 'two' }),
    );
    expect(await grants.find(GRANT_KIND, 'loc2')).toMatchObject({ accessToken: 'two' });
    release();
    await first;
  });

  it('O7 failed work keeps the grant and releases the lock', async () => {
    await grants.store(GRANT);
    const broken = grants.exclusively(GRANT_KIND, OWNER, () => Promise.reject(new Error('broken')));
    await expect(broken).rejects.toThrow();
    expect(await grants.exclusively(GRANT_KIND, OWNER, async (grant) => grant.accessToken)).toBe(
      GRANT.accessToken,
    );
  });

  it('the work does not run for a grant that does not exist', async () => {
    expect(await grants.exclusively(GRANT_KIND, 'unknown', async () => 'ran')).toBeUndefined();
  });

  it('the tokens of a grant that was removed in between are not saved', async () => {
    await grants.store(GRANT);
    let removing: Promise<unknown> | undefined;
    await grants.exclusively(GRANT_KIND, OWNER, async (_grant, commit) => {
      // On a server it waits for the lock of the refresh.
      removing = grants.remove(GRANT_KIND, OWNER);
      await commit(GRANT);
    });
    await removing;
    expect(await find()).toBeUndefined();
  });

  it('E3 an uninstallation deletes the tokens of a location, and all tokens derived from its company', async () => {
    await grants.store({ ...GRANT, kind: 'company', ownerId: 'comp1' });
    await grants.store({ ...GRANT, isDerived: true });
    await grants.store({ ...GRANT, ownerId: 'own' });
    const company = { kind: 'company', ownerId: 'comp1', companyId: null, at: undefined } as const;
    expect(await grants.uninstall(company)).toEqual(['comp1', 'loc1']);
    expect(await find()).toMatchObject({ state: 'uninstalled', accessToken: '', refreshToken: null });
    expect(await grants.find('location', 'own')).toMatchObject({ state: 'active' });
    const { rows } = await sql`select access_token from oauth_grants where state = 'uninstalled'`.execute(
      database.db,
    );
    expect(rows).toEqual([{ access_token: '' }, { access_token: '' }]);
  });

  it('E3 a location that was installed after its company was uninstalled waits for new tokens', async () => {
    await grants.store({ ...GRANT, isDerived: true, issuedAt: 1000 });
    await grants.expect({ ...EVENT, at: 3000 });
    await grants.uninstall({ kind: 'company', ownerId: 'comp1', companyId: null, at: 2000 });
    expect(await find()).toMatchObject({ state: 'expected', accessToken: '' });
  });

  it('E3 tokens that were issued before the app was uninstalled are not saved, and later ones are', async () => {
    await grants.uninstall({ ...EVENT, at: 2000 });
    expect(await grants.store({ ...GRANT, issuedAt: 1000 })).toBeUndefined();
    expect(await find()).toMatchObject({ state: 'uninstalled' });
    expect(await grants.store({ ...GRANT, issuedAt: 3000 })).toMatchObject({ state: 'active' });
  });

  it('E1 T66 a grant with tokens is doubted until it is trusted or ended, and only the doubted tokens are ended', async () => {
    expect(await grants.doubt('location', 'loc1')).toBeUndefined();
    await grants.store(GRANT);
    const first = (await grants.doubt('location', 'loc1')) ?? expect.fail('no tokens');
    const second = (await grants.doubt('location', 'loc1')) ?? expect.fail('no tokens');
    await grants.trust(first);
    expect(await grants.doubted()).toEqual([second]);
    await grants.trust(second);
    expect(await grants.doubted()).toEqual([]);

    await grants.doubt('location', 'loc1');
    const asked = await find();
    await grants.store(GRANT);
    expect(await grants.uninstall({ ...EVENT, at: undefined }, asked)).toEqual([]);
    expect(await find()).toMatchObject({ state: 'active' });
    expect(await grants.uninstall({ ...EVENT, at: undefined }, await find())).toEqual(['loc1']);
    expect(await grants.doubted()).toEqual([]);
  });

  it('E1 events in any order, and repeated, lead to the same state', async () => {
    const events = [
      { type: 'install', ...EVENT, at: 1000 },
      { type: 'uninstall', ...EVENT, at: 2000 },
      { type: 'install', ...EVENT, at: 3000 },
      { type: 'uninstall', kind: 'company', ownerId: 'comp1', companyId: null, at: 4000 },
    ] as const;
    for (const count of [2, 3, 4]) {
      const states = new Set<string>();
      for (const order of permutations(events.slice(0, count))) {
        await sql`delete from oauth_grants`.execute(database.db);
        for (const { type, ...event } of [...order, ...order])
          await (type === 'install' ? grants.expect(event) : grants.uninstall(event));
        states.add((await find())?.state ?? 'none');
      }
      expect([count, ...states]).toEqual([count, ['uninstalled', 'expected', 'uninstalled'][count - 2]]);
    }
  });

  it('E2 the installations that wait for tokens are listed', async () => {
    expect(await grants.expect({ ...EVENT, at: 1000 })).toMatchObject({ state: 'expected' });
    expect(await grants.expected(0)).toMatchObject([{ ownerId: 'loc1', companyId: 'comp1' }]);
    expect(await grants.expected(clock.now() + 1)).toEqual([]);
    await grants.exclusively(GRANT_KIND, OWNER, (_grant, commit) => commit(GRANT));
    expect(await grants.expect({ ...EVENT, at: 2000 })).toMatchObject({ state: 'active' });
    expect(await grants.expected(0)).toEqual([]);
  });

  it('grants are listed without tokens, and removed', async () => {
    await grants.store(GRANT);
    const [listed, ...rest] = await grants.list();
    expect(rest).toEqual([]);
    expect(listed).toMatchObject({ ownerId: 'loc1', state: 'active', expiresAt: GRANT.expiresAt });
    expect(JSON.stringify(listed)).not.toContain('canary');
    await grants.store({ ...GRANT, kind: 'company', ownerId: 'company1' });
    expect(await grants.listLocationIds()).toEqual(['loc1']);
    expect(await grants.ofLocations(['loc1', 'loc2', 'company1'])).toEqual([listed]);
    expect(await grants.remove('company', 'company1')).toBe(true);
    expect(await grants.remove(GRANT_KIND, OWNER)).toBe(true);
    expect(await grants.remove(GRANT_KIND, OWNER)).toBe(false);
    expect(await grants.list()).toEqual([]);
  });

  const refuse = (more: Partial<Refusal> = {}) =>
    grants.refuse({
      ownerId: OWNER,
      companyId: 'comp1',
      requestedAt: clock.now(),
      firstUntil: clock.now() - 1000,
      ...more,
    });

  it('E2 a refused location is kept for some time after its first refusal', async () => {
    await grants.expect({ ...EVENT, at: 1000 });
    await clock.advance(5000);
    expect(await refuse()).toBe(false);
    await clock.advance(999);
    expect(await refuse()).toBe(false);
    await clock.advance(1);
    expect(await refuse()).toBe(true);
    expect(await find()).toBeUndefined();
  });

  it('A6 a refused location is removed only while it is expected, and only for its own company', async () => {
    const refuseTwice = async (more: Partial<Refusal> = {}) => {
      await refuse(more);
      await clock.advance(1000);
      return refuse({ ...more, requestedAt: clock.now(), firstUntil: clock.now() - 1000 });
    };
    expect(await refuseTwice()).toBe(false);
    await grants.expect({ ...EVENT, at: 1000 });
    expect(await refuseTwice({ companyId: 'comp2' })).toBe(false);
    expect(await refuseTwice({ ownerId: 'loc2' })).toBe(false);
    const stored = await stores(GRANT);
    expect(await refuseTwice()).toBe(false);
    await grants.recordFailure(stored, { state: 'reauth_required', lastError: 'invalid_grant' });
    expect(await refuseTwice()).toBe(false);
    await grants.uninstall({ ...EVENT, at: undefined });
    expect(await refuseTwice()).toBe(false);
    expect(await find()).toMatchObject({ state: 'uninstalled' });
  });

  it.each([500, 2000, undefined])(
    'E2 the time of a refused location starts over when it is expected again, with the time %s',
    async (at) => {
      await grants.expect({ ...EVENT, at: 1000 });
      await refuse();
      await clock.advance(1000);
      await grants.expect({ ...EVENT, at });
      expect(await refuse()).toBe(false);
      await clock.advance(1000);
      expect(await refuse()).toBe(true);
    },
  );

  it('E2 a refused location that was expected again after the request is kept', async () => {
    await grants.expect({ ...EVENT, at: 1000 });
    await refuse();
    await clock.advance(5000);
    const requestedAt = clock.now();
    await clock.advance(1);
    await grants.expect({ ...EVENT, at: 1000 });
    expect(await refuse({ requestedAt })).toBe(false);
    await clock.advance(1000);
    expect(await refuse()).toBe(false);
  });

  it('E2 the time of a refused location starts over when it is installed again', async () => {
    await grants.expect({ ...EVENT, at: clock.now() });
    await refuse();
    await clock.advance(5000);
    await grants.uninstall({ ...EVENT, at: clock.now() });
    await clock.advance(1000);
    await grants.expect({ ...EVENT, at: clock.now() });
    await clock.advance(1);
    expect(await refuse()).toBe(false);
  });

  it('E2 a location that waits for its tokens gets the company of a newer event', async () => {
    await grants.expect({ ...EVENT, at: 1000 });
    expect(await grants.expect({ ...EVENT, companyId: 'comp0', at: 500 })).toMatchObject({
      companyId: 'comp1',
    });
    expect(await grants.expect({ ...EVENT, companyId: 'comp2', at: 2000 })).toMatchObject({
      companyId: 'comp2',
    });
    expect(await grants.expect({ ...EVENT, companyId: null, at: 3000 })).toMatchObject({
      companyId: 'comp2',
    });
  });

  it('A6 removes locations that were last expected before a time', async () => {
    await grants.expect({ ...EVENT, at: 1000 });
    await grants.expect({ ...EVENT, ownerId: 'loc2', at: 1000 });
    await stores({ ...GRANT, ownerId: 'loc3' });
    await clock.advance(5000);
    await grants.expect({ ...EVENT, ownerId: 'loc2', at: 1000 });
    expect(await grants.removeExpectedBefore(clock.now())).toEqual([OWNER]);
    const left = await grants.list();
    expect(left.map(({ ownerId }) => ownerId)).toEqual(['loc2', 'loc3']);
  });

  it('E2 a location that was announced again is listed again', async () => {
    await grants.expect({ ...EVENT, at: 1000 });
    await clock.advance(5000);
    const since = clock.now();
    expect(await grants.expected(since)).toEqual([]);
    await grants.expect({ ...EVENT, at: 1000 });
    expect(await grants.expected(since)).toMatchObject([{ ownerId: OWNER }]);
  });

  it('O10 a location has one private token', async () => {
    expect(await grants.privateToken('loc1')).toBeUndefined();
    await grants.setPrivateToken('loc1', 'pit-1');
    await grants.setPrivateToken('loc1', 'pit-2');
    expect(await grants.privateToken('loc1')).toBe('pit-2');
    expect(await grants.privateToken('loc2')).toBeUndefined();
    expect(await grants.privateTokens()).toEqual([
      { locationId: 'loc1', updatedAt: clock.now(), isReadable: true },
    ]);
    expect(await grants.removePrivateToken('loc1')).toBe(true);
    expect(await grants.privateToken('loc1')).toBeUndefined();
  });

  it('O6 a rotation encrypts all tokens with the newest key, so that the older one can be removed', async () => {
    const [older, newer] = [randomBytes(32), randomBytes(32)];
    const withKeys = (...configured: Buffer[]) =>
      createGrants({ database, clock, vault: createVault(configured) });
    await withKeys(older).setPrivateToken('loc1', 'pit-1');
    await withKeys(older).store(GRANT);
    expect(await withKeys(newer).privateTokens()).toMatchObject([{ locationId: 'loc1', isReadable: false }]);
    expect(await withKeys(newer).rotate()).toEqual({ encrypted: 0, unreadable: 2 });
    const { kind, ownerId } = GRANT;
    const both = [
      { kind, ownerId },
      { kind: 'private', ownerId: 'loc1' },
    ];
    expect(await withKeys(newer).unreadable()).toEqual(both);
    expect(await withKeys(newer, older).unreadable()).toEqual([]);
    const lost = { state: 'unreadable', lastError: 'no encryption key decrypts this grant' };
    expect(await withKeys(newer).list()).toMatchObject([lost]);
    expect(await withKeys(newer).ofLocations([ownerId])).toMatchObject([lost]);
    expect(await withKeys(newer).find(kind, ownerId)).toMatchObject({ ...lost, accessToken: '' });
    expect(await withKeys(older).list()).toMatchObject([{ state: 'active', lastError: null }]);
    expect(await withKeys(newer, older).rotate()).toEqual({ encrypted: 2, unreadable: 0 });
    expect(await withKeys(newer, older).rotate()).toEqual({ encrypted: 0, unreadable: 0 });
    const rotated = withKeys(newer);
    expect(await rotated.privateToken('loc1')).toBe('pit-1');
    expect(await rotated.find(GRANT_KIND, OWNER)).toMatchObject({
      accessToken: GRANT.accessToken,
      refreshToken: GRANT.refreshToken,
      state: 'active',
    });
    expect(await rotated.privateTokens()).toMatchObject([{ isReadable: true }]);
    expect(await rotated.unreadable()).toEqual([]);
    await rotated.uninstall({ ...GRANT, at: undefined });
    expect(await withKeys(older).unreadable()).toEqual([{ kind: 'private', ownerId: 'loc1' }]);
    expect(await withKeys(older).list()).toMatchObject([{ state: 'uninstalled' }]);
  });

  const company = { kind: 'company', ownerId: 'comp1', companyId: 'comp1' } as const;
  const location = { kind: 'location', ownerId: 'loc1', companyId: 'comp1' } as const;
  const tokens = { accessToken: 'access', refreshToken: 'refresh', expiresAt: 2_000_000_000_000 };

  const waiting = (count: number) =>
    until(async () => {
      const { rows } = await sql`
        SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(database.db);
      return rows.length === count;
    });

  it.runIf(engine === 'postgres')(
    'E3 a location of a company can be expected while the company is uninstalled, without a deadlock',
    async () => {
      await grants.store({ ...company, ...tokens, issuedAt: 1000 });
      await grants.store({ ...location, ...tokens, issuedAt: 1000, isDerived: true });
      const { promise: held, resolve: release } = Promise.withResolvers<void>();
      const refreshing = grants.exclusively('company', 'comp1', () => held);
      const uninstalled = grants.uninstall({ ...company, at: 2000 });
      await waiting(1);
      const expected = grants.expect({ ...location, at: 3000 });
      await waiting(2);
      release();
      await refreshing;
      const results = await Promise.allSettled([uninstalled, expected]);
      expect(results).toMatchObject([
        { status: 'fulfilled', value: ['comp1', 'loc1'] },
        { status: 'fulfilled', value: { state: 'expected' } },
      ]);
    },
  );

  it.runIf(engine === 'postgres').each(['before', 'after'])(
    'E2 a location that is announced %s its refusal is recorded stays expected',
    async (when) => {
      await grants.store({ ...company, ...tokens, issuedAt: 1000 });
      await grants.expect({ ...location, at: 1000 });
      await clock.advance(1);
      const refusal = { ownerId: 'loc1', companyId: 'comp1', requestedAt: clock.now() };
      await grants.refuse({ ...refusal, firstUntil: 0 });
      await clock.advance(1);
      const announce = () => grants.expect({ ...location, at: 2000 });
      const record = () => grants.refuse({ ...refusal, firstUntil: refusal.requestedAt });
      const { promise: held, resolve: release } = Promise.withResolvers<void>();
      const requesting = grants.exclusively('location', 'loc1', () => held);
      const [first, second] = when === 'before' ? [announce, record] : [record, announce];
      const recorded: Promise<unknown>[] = [first()];
      await waiting(1);
      recorded.push(second());
      await waiting(2);
      release();
      await Promise.all([requesting, ...recorded]);
      expect(await grants.find('location', 'loc1')).toMatchObject({ state: 'expected' });
    },
  );
});
