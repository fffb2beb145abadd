import { randomUUID } from 'node:crypto';

import { sql } from 'kysely';
import type { Selectable } from 'kysely';

import { guarded, readStored, TEXTS } from '../../platform/sql/queries.ts';
import type { Database } from '../../platform/sql/open-database.ts';
import type { Schema } from '../../platform/sql/schema.ts';
import type { TimedPage } from '../../platform/timed-page.ts';
import { checkKey } from './check-key.ts';
import type { KeyInput, KeyProblem, KeyRecord } from './keys.ts';

export type AddOutcome =
  | { readonly kind: 'added'; readonly key: KeyRecord }
  | { readonly kind: 'rejected'; readonly problem: KeyProblem }
  /** The same key is already registered for this header. */
  | { readonly kind: 'duplicate'; readonly key: KeyRecord };

type Row = Selectable<Schema['crm_keys']>;

const queried = guarded('the keys cannot be read or changed');

/** The operator's allowlist of keys (S5, S6). A change is durable when its call resolves; the caller announces it to the nodes. */
export function crmKeys(db: Database, now: () => number) {
  return {
    /** Lists all keys or a page of them, by their creation and id. */
    list: (page?: TimedPage): Promise<KeyRecord[]> =>
      queried(async () => {
        let query = db.selectFrom('crm_keys').selectAll().orderBy('created_at').orderBy('id');
        if (page !== undefined) query = query.limit(page.limit);
        if (page?.after !== undefined) {
          const { at, id } = page.after;
          query = query.where(sql<boolean>`(created_at, id) > (${at}, ${id})`);
        }
        return (await query.execute()).map(record);
      }),

    /** Stores only keys that can verify a signature: it checks the real type of the key against its scheme. */
    add: (input: KeyInput): Promise<AddOutcome> => queried(() => add(db, input, now())),

    /** Resolves with undefined when the key does not exist. */
    setEnabled: (id: string, enabled: boolean): Promise<KeyRecord | undefined> =>
      queried(async () => {
        const row = await db
          .updateTable('crm_keys')
          .set({ enabled: enabled ? 1 : 0, updated_at: now() })
          .where('id', '=', id)
          .returningAll()
          .executeTakeFirst();
        return row === undefined ? undefined : record(row);
      }),

    remove: (id: string): Promise<KeyRecord | undefined> =>
      queried(async () => {
        const row = await db.deleteFrom('crm_keys').where('id', '=', id).returningAll().executeTakeFirst();
        return row === undefined ? undefined : record(row);
      }),
  };
}

async function add(db: Database, input: KeyInput, at: number): Promise<AddOutcome> {
  const checked = checkKey(input);
  if (!checked.ok) return { kind: 'rejected', problem: checked.problem };
  const { key } = checked;
  return db.transaction().execute(async (transaction): Promise<AddOutcome> => {
    const existing = await transaction
      .selectFrom('crm_keys')
      .selectAll()
      .where('fingerprint', '=', key.fingerprint)
      .where((where) => where(where.fn<string>('lower', ['header']), '=', key.header.toLowerCase()))
      .executeTakeFirst();
    if (existing !== undefined) return { kind: 'duplicate', key: record(existing) };
    const row: Row = {
      id: randomUUID(),
      label: key.label,
      scheme: key.scheme,
      header: key.header,
      public_key: key.publicKey,
      fingerprint: key.fingerprint,
      locations: key.locations === null ? null : JSON.stringify(key.locations),
      enabled: 1,
      created_at: at,
      updated_at: at,
    };
    await transaction.insertInto('crm_keys').values(row).execute();
    return { kind: 'added', key: record(row) };
  });
}

function record(row: Row): KeyRecord {
  return {
    id: row.id,
    label: row.label,
    scheme: row.scheme,
    header: row.header,
    publicKey: row.public_key,
    fingerprint: row.fingerprint,
    locations: row.locations === null ? null : readStored(TEXTS, row.locations),
    enabled: row.enabled === 1,
    createdAt: row.created_at,
  };
}

export type CrmKeys = ReturnType<typeof crmKeys>;
