import { randomBytes } from 'node:crypto';

import type { SelectQueryBuilder, Transaction } from 'kysely';

import type { Database, OpenDatabase } from '../../platform/sql/open-database.ts';
import type { Schema } from '../../platform/sql/schema.ts';

export type AccountsTransaction = Transaction<Schema>;

export type RowLocks = ReturnType<typeof rowLocks>;

/** Reads rows that stay locked until the transaction ends. */
export function rowLocks(engine: OpenDatabase['engine']) {
  async function locked<Table extends keyof Schema, Row>(
    query: SelectQueryBuilder<Schema, Table, Row>,
  ): Promise<Row | undefined> {
    // SQLite has no row locks and needs none: a transaction holds the write lock from its beginning.
    return await (engine === 'postgres' ? query.forUpdate() : query).executeTakeFirst();
  }
  return {
    /** Every transaction that counts the seats of a license or changes it takes this lock. */
    license(tx: AccountsTransaction, by: { id: string } | { keyHash: string }) {
      const rows = tx.selectFrom('licenses').selectAll();
      return locked('id' in by ? rows.where('id', '=', by.id) : rows.where('key_hash', '=', by.keyHash));
    },
    location: (tx: AccountsTransaction, locationId: string) =>
      locked(tx.selectFrom('locations').selectAll().where('location_id', '=', locationId)),
    pairingCode: (tx: AccountsTransaction, codeHash: string) =>
      locked(tx.selectFrom('pairing_codes').selectAll().where('code_hash', '=', codeHash)),
  };
}

export async function seatsUsed(tx: AccountsTransaction, licenseId: string): Promise<number> {
  const { used } = await tx
    .selectFrom('devices')
    .select((eb) => eb.fn.countAll<number>().as('used'))
    .where('license_id', '=', licenseId)
    .where('status', '=', 'active')
    .executeTakeFirstOrThrow();
  return used;
}

/** Resolves with the license, in any state, and with one other that is not revoked. */
export async function licensesBesides(db: AccountsTransaction | Database, licenseId: string) {
  return await db
    .selectFrom('licenses')
    .select(['id', 'label', 'max_seats'])
    .where((eb) => eb.or([eb('status', '<>', 'revoked'), eb('id', '=', licenseId)]))
    .orderBy((eb) => eb.case().when('id', '=', licenseId).then(0).else(1).end())
    .limit(2)
    .execute();
}

/** Unique ids that are readable in logs: `lic_…`, `dev_…`. */
export function newRowId(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString('base64url').replaceAll(/[-_]/g, '0')}`;
}
