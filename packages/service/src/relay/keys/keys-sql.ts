import { randomUUID } from 'node:crypto';

import { sql } from 'kysely';
import type { Selectable } from 'kysely';

import { EngineError } from '../../platform/errors.ts';
import type { Database } from '../../platform/sql/open-database.ts';
import type { Schema } from '../../platform/sql/schema.ts';
import { readStored, TEXTS } from '../../platform/sql/stored-json.ts';
import { checkKey } from './check-key.ts';
import type { AddOutcome, CrmKeys, KeyRecord, KeyInput } from './keys.ts';

type Row = Selectable<Schema['crm_keys']>;

export function openCrmKeys(db: Database, now: () => number): CrmKeys {
  return {
    list: (page) =>
      withEngineError('the keys cannot be read', async () => {
        let query = db.selectFrom('crm_keys').selectAll().orderBy('created_at').orderBy('id');
        if (page !== undefined) query = query.limit(page.limit);
        if (page?.after !== undefined) {
          const { at, id } = page.after;
          query = query.where(sql<boolean>`(created_at, id) > (${at}, ${id})`);
        }
        return (await query.execute()).map(record);
      }),

    add: (input) => withEngineError('the key cannot be stored', () => add(db, input, now())),

    setEnabled: (id, enabled) =>
      withEngineError('the key cannot be changed', async () => {
        const row = await db
          .updateTable('crm_keys')
          .set({ enabled: enabled ? 1 : 0, updated_at: now() })
          .where('id', '=', id)
          .returningAll()
          .executeTakeFirst();
        return row === undefined ? undefined : record(row);
      }),

    remove: (id) =>
      withEngineError('the key cannot be removed', async () => {
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

async function withEngineError<T>(problem: string, query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    throw new EngineError('sql', problem, error);
  }
}
