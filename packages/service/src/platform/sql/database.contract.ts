import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { openDatabase } from './open-database.ts';
import type { OpenDatabase } from './open-database.ts';
import { sharedSecret } from './shared-secret.ts';

/** The behaviour that both dialects share. `fresh` creates an empty database. */
export function databaseContract(
  name: string,
  fresh: () => Promise<Parameters<typeof openDatabase>[0]>,
): void {
  describe(`database: ${name}`, () => {
    let choice: Parameters<typeof openDatabase>[0];
    let database: OpenDatabase;
    beforeEach(async () => {
      choice = await fresh();
      database = await openDatabase(choice, () => {});
    });
    afterEach(() => database.close());

    const license = (id: string, seats = 1) => ({
      id,
      label: 'l',
      key_hash: id,
      key_hint: 'h',
      max_seats: seats,
      status: 'active' as const,
      created_at: 1_800_000_000_000,
      updated_at: 1_800_000_000_000,
    });

    it('migrates once and opens again', async () => {
      await database.db.insertInto('licenses').values(license('a')).execute();
      if (choice.engine === 'sqlite' && choice.file === ':memory:') return;
      const again = await openDatabase(choice, () => {});
      expect(await again.db.selectFrom('licenses').select('id').execute()).toEqual([{ id: 'a' }]);
      await again.close();
    });

    it('returns times as numbers', async () => {
      await database.db.insertInto('licenses').values(license('a')).execute();
      const row = await database.db.selectFrom('licenses').select('created_at').executeTakeFirstOrThrow();
      expect(row.created_at).toBe(1_800_000_000_000);
    });

    it('stores any text, also with a NUL or a lone surrogate, and finds it again', async () => {
      for (const id of ['a\0b', '\uD800', '😀', "'; drop table licenses; --"]) {
        await database.db.insertInto('licenses').values(license(id)).execute();
        const found = await database.db.selectFrom('licenses').select('label').where('id', '=', id).execute();
        expect(found).toHaveLength(1);
      }
    });

    it('counts affected rows and returns inserted ones', async () => {
      await database.db
        .insertInto('licenses')
        .values([license('a'), license('b')])
        .execute();
      const { numUpdatedRows } = await database.db
        .updateTable('licenses')
        .set({ label: 'x' })
        .executeTakeFirstOrThrow();
      expect(numUpdatedRows).toBe(2n);
      const inserted = await database.db
        .insertInto('changes')
        .values({ topic: 'keys', subject: 's', at: 1 })
        .returning('id')
        .executeTakeFirstOrThrow();
      expect(inserted.id).toBe(1);
    });

    it('commits either all queries or none of them', async () => {
      const insert = (id: string) => database.db.insertInto('licenses').values(license(id)).compile();
      const read = database.db.selectFrom('licenses').select('id').orderBy('id').compile();
      const results = await database.commit([insert('a'), insert('b'), read]);
      expect(results.map(({ numAffectedRows }) => numAffectedRows).slice(0, 2)).toEqual([1n, 1n]);
      expect(results[2]?.rows).toEqual([{ id: 'a' }, { id: 'b' }]);
      await expect(database.commit([insert('c'), insert('a'), insert('d')])).rejects.toThrow();
      expect((await database.commit([read]))[0]?.rows).toEqual([{ id: 'a' }, { id: 'b' }]);
      expect(await database.commit([])).toEqual([]);
    });

    it('rolls back a failed transaction', async () => {
      const failed = database.db.transaction().execute(async (trx) => {
        await trx.insertInto('licenses').values(license('a')).execute();
        throw new Error('rolled back');
      });
      await expect(failed).rejects.toThrow('rolled back');
      expect(await database.db.selectFrom('licenses').selectAll().execute()).toEqual([]);
    });

    it('isolates concurrent transactions', async () => {
      await database.db.insertInto('licenses').values(license('a', 0)).execute();
      await Promise.all(
        Array.from({ length: 20 }, () =>
          database.db.transaction().execute(async (trx) => {
            const lock = trx.selectFrom('licenses').select('max_seats').where('id', '=', 'a');
            const row = await (
              database.engine === 'postgres' ? lock.forUpdate() : lock
            ).executeTakeFirstOrThrow();
            await trx
              .updateTable('licenses')
              .set({ max_seats: row.max_seats + 1 })
              .execute();
          }),
        ),
      );
      const row = await database.db.selectFrom('licenses').select('max_seats').executeTakeFirstOrThrow();
      expect(row.max_seats).toBe(20);
    });

    it('generates a shared secret once for simultaneous callers', async () => {
      const secrets = await Promise.all(Array.from({ length: 5 }, () => sharedSecret(database.db, 'node')));
      expect(new Set(secrets).size).toBe(1);
      expect(secrets[0]?.length).toBeGreaterThan(40);
      expect(await sharedSecret(database.db, 'another')).not.toBe(secrets[0]);
    });

    it('resolves a ping', async () => {
      await expect(database.ping()).resolves.toBeUndefined();
      expect((await sql<{ one: number }>`select 1 as one`.execute(database.db)).rows).toEqual([{ one: 1 }]);
    });
  });
}
