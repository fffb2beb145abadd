import { randomBytes } from 'node:crypto';

import { FakeClock } from '@footbridge/testkit/fake-clock';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { OpenDatabase } from '../../sql/open-database.ts';
import { createSqlGrants } from './grants-sql.ts';
import type { Grants } from './grants.ts';
import { createVault } from './vault.ts';

export interface GrantsEngine {
  /** Handles on one store: two where several processes may share it, otherwise one. */
  readonly databases: readonly OpenDatabase[];
  close(): Promise<void>;
}

const GRANT = {
  kind: 'location',
  ownerId: 'loc1',
  companyId: 'comp1',
  accessToken: 'access-canary-1',
  refreshToken: 'refresh-canary-1',
  expiresAt: 2_000_000_000_000,
} as const;

export function grantsContract(name: string, createEngine: () => Promise<GrantsEngine>): void {
  describe(`grants: ${name}`, () => {
    const keys = [randomBytes(32)];
    let engine: GrantsEngine;
    let clock: FakeClock;
    let all: Grants[];
    let grants: Grants;

    beforeEach(async () => {
      engine = await createEngine();
      clock = new FakeClock();
      all = engine.databases.map((database) =>
        createSqlGrants({ database, clock, vault: createVault(keys) }),
      );
      const [first] = all;
      if (first === undefined) throw new Error('an engine has at least one handle');
      grants = first;
    });
    afterEach(() => engine.close());

    const [GRANT_KIND, OWNER] = [GRANT.kind, GRANT.ownerId];
    const find = () => grants.find(GRANT_KIND, OWNER);

    it('returns a stored grant', async () => {
      await grants.store(GRANT);
      expect(await find()).toMatchObject({ ...GRANT, state: 'active', lastError: null });
      expect(await grants.find('company', OWNER)).toBeUndefined();
    });

    it('O6 stores no readable token in the database', async () => {
      await grants.store(GRANT);
      await grants.setPrivateToken('loc1', 'pit-canary-1');
      for (const table of ['oauth_grants', 'private_tokens']) {
        const { rows } = await sql`select * from ${sql.table(table)}`.execute(database().db);
        expect(rows).toHaveLength(1);
        expect(JSON.stringify(rows)).not.toContain('canary');
      }
    });

    it('O6 rejects a ciphertext copied from another row', async () => {
      await grants.store(GRANT);
      await grants.store({ ...GRANT, ownerId: 'loc2', accessToken: 'other' });
      const { db } = database();
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
      expect(await find()).toMatchObject({ state: 'reauth_required', accessToken: '' });
    });

    it('O6 encrypts with the newest key on the next refresh', async () => {
      await grants.store(GRANT);
      const newer = randomBytes(32);
      const rotated = createSqlGrants({
        database: database(),
        clock,
        vault: createVault([newer, ...keys]),
      });
      await rotated.exclusively(GRANT_KIND, OWNER, (_grant, commit) =>
        commit({ ...GRANT, accessToken: 'second' }),
      );
      const onlyNewer = createSqlGrants({ database: database(), clock, vault: createVault([newer]) });
      expect(await onlyNewer.find(GRANT_KIND, OWNER)).toMatchObject({ accessToken: 'second' });
    });

    it('O8 activates a failed grant again after a new authorisation', async () => {
      const stored = await grants.store(GRANT);
      await grants.recordFailure(stored, { state: 'reauth_required', lastError: 'invalid_grant' });
      expect(await find()).toMatchObject({ state: 'reauth_required', lastError: 'invalid_grant' });
      await grants.store({ ...GRANT, accessToken: 'again' });
      expect(await find()).toMatchObject({ state: 'active', lastError: null, accessToken: 'again' });
    });

    it('O8 ignores a failure of a grant that was refreshed after it was read', async () => {
      const stale = await grants.store(GRANT);
      await grants.exclusively(GRANT_KIND, OWNER, (_grant, commit) =>
        commit({ ...GRANT, accessToken: 'new' }),
      );
      await grants.recordFailure(stale, { state: 'reauth_required', lastError: 'invalid_grant' });
      expect(await find()).toMatchObject({ state: 'active', accessToken: 'new' });
    });

    it('O7 runs one refresh at a time, each with the tokens that the previous one stored', async () => {
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

    it('O7 does not block other grants while one is refreshed', async () => {
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

    it('O7 keeps the grant and releases the lock when the work fails', async () => {
      await grants.store(GRANT);
      const broken = grants.exclusively(GRANT_KIND, OWNER, () => Promise.reject(new Error('broken')));
      await expect(broken).rejects.toThrow();
      expect(await grants.exclusively(GRANT_KIND, OWNER, async (grant) => grant.accessToken)).toBe(
        GRANT.accessToken,
      );
    });

    it('does not run the work for a grant that does not exist', async () => {
      expect(await grants.exclusively(GRANT_KIND, 'unknown', async () => 'ran')).toBeUndefined();
    });

    it('lists grants without tokens, and removes them', async () => {
      await grants.store(GRANT);
      const [listed, ...rest] = await grants.list();
      expect(rest).toEqual([]);
      expect(listed).toMatchObject({ ownerId: 'loc1', state: 'active', expiresAt: GRANT.expiresAt });
      expect(JSON.stringify(listed)).not.toContain('canary');
      expect(await grants.remove(GRANT_KIND, OWNER)).toBe(true);
      expect(await grants.remove(GRANT_KIND, OWNER)).toBe(false);
      expect(await grants.list()).toEqual([]);
    });

    it('O10 keeps one private token per location', async () => {
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

    it('O6 encrypts all tokens with the newest key, so that the older one can be removed', async () => {
      const [older, newer] = [randomBytes(32), randomBytes(32)];
      const withKeys = (...configured: Buffer[]) =>
        createSqlGrants({ database: database(), clock, vault: createVault(configured) });
      await withKeys(older).setPrivateToken('loc1', 'pit-1');
      await withKeys(older).store(GRANT);
      expect(await withKeys(newer).privateTokens()).toMatchObject([
        { locationId: 'loc1', isReadable: false },
      ]);
      expect(await withKeys(newer).rotate()).toEqual({ encrypted: 0, unreadable: 2 });
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
    });

    const database = (): OpenDatabase => {
      const [first] = engine.databases;
      if (first === undefined) throw new Error('an engine has at least one handle');
      return first;
    };
  });
}
