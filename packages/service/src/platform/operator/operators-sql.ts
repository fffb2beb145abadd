import { randomUUID } from 'node:crypto';

import type { Clock } from '@footbridge/runtime/clock';
import { sql } from 'kysely';
import type { Selectable } from 'kysely';

import { EngineError } from '../errors.ts';
import type { Database } from '../sql/open-database.ts';
import type { Schema } from '../sql/schema.ts';
import { readStored, TEXTS } from '../sql/stored-json.ts';
import type { NewOperatorToken, Operators, OperatorToken } from './operators.ts';

type Row = Selectable<Schema['operator_tokens']>;

export function createSqlOperators({ db, clock }: { db: Database; clock: Clock }): Operators {
  return {
    addToken: (token) =>
      withEngineError(async () => {
        const row = rowOf(token, clock.now());
        await db.insertInto('operator_tokens').values(row).execute();
        return tokenOf(row);
      }),

    listTokens: ({ limit, after }) =>
      withEngineError(async () => {
        const page = db
          .selectFrom('operator_tokens')
          .selectAll()
          .orderBy('created_at')
          .orderBy('id')
          .limit(limit);
        const rows = await (
          after === undefined ? page : page.where(sql<boolean>`(created_at, id) > (${after.at}, ${after.id})`)
        ).execute();
        return rows.map(tokenOf);
      }),

    findToken: (tokenHash) =>
      withEngineError(async () => {
        const row = await db
          .selectFrom('operator_tokens')
          .selectAll()
          .where('token_hash', '=', tokenHash)
          .executeTakeFirst();
        return row === undefined ? undefined : tokenOf(row);
      }),

    removeToken: (id) =>
      withEngineError(() =>
        db.transaction().execute(async (transaction) => {
          const row = await transaction
            .deleteFrom('operator_tokens')
            .where('id', '=', id)
            .returning('token_hash')
            .executeTakeFirst();
          if (row === undefined) return false;
          await transaction
            .deleteFrom('operator_sessions')
            .where('token_hash', '=', row.token_hash)
            .execute();
          return true;
        }),
      ),

    addSession: (idHash, tokenHash) =>
      withEngineError(async () => {
        const at = clock.now();
        await db
          .insertInto('operator_sessions')
          .values({ id_hash: idHash, token_hash: tokenHash, created_at: at, last_seen_at: at })
          .execute();
      }),

    findSession: (idHash) =>
      withEngineError(async () => {
        const row = await db
          .selectFrom('operator_sessions')
          .selectAll()
          .where('id_hash', '=', idHash)
          .executeTakeFirst();
        return row === undefined
          ? undefined
          : { tokenHash: row.token_hash, createdAt: row.created_at, lastSeenAt: row.last_seen_at };
      }),

    touchSession: (idHash) =>
      withEngineError(async () => {
        await db
          .updateTable('operator_sessions')
          .set({ last_seen_at: clock.now() })
          .where('id_hash', '=', idHash)
          .execute();
      }),

    removeSession: (idHash) =>
      withEngineError(async () => {
        await db.deleteFrom('operator_sessions').where('id_hash', '=', idHash).execute();
      }),

    addSignInCode: (codeHash, tokenHash, expiresAt) =>
      withEngineError(async () => {
        await db
          .insertInto('sign_in_codes')
          .values({ code_hash: codeHash, token_hash: tokenHash, expires_at: expiresAt })
          .execute();
      }),

    takeSignInCode: (codeHash) =>
      withEngineError(async () => {
        const row = await db
          .deleteFrom('sign_in_codes')
          .where('code_hash', '=', codeHash)
          .returning(['token_hash', 'expires_at'])
          .executeTakeFirst();
        return row !== undefined && row.expires_at > clock.now() ? row.token_hash : undefined;
      }),

    prune: ({ lastSeen, created }) =>
      withEngineError(async () => {
        await db.deleteFrom('sign_in_codes').where('expires_at', '<=', clock.now()).execute();
        await db
          .deleteFrom('operator_sessions')
          .where((row) => row.or([row('last_seen_at', '<', lastSeen), row('created_at', '<', created)]))
          .execute();
      }),
  };
}

const rowOf = ({ label, readOnly, locations, tokenHash }: NewOperatorToken, at: number): Row => ({
  id: randomUUID(),
  label,
  token_hash: tokenHash,
  read_only: readOnly ? 1 : 0,
  locations: locations === null ? null : JSON.stringify(locations),
  created_at: at,
});

const tokenOf = (row: Row): OperatorToken => ({
  id: row.id,
  label: row.label,
  readOnly: row.read_only === 1,
  locations: row.locations === null ? null : readStored(TEXTS, row.locations),
  createdAt: row.created_at,
});

async function withEngineError<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    throw new EngineError('sql', 'operator tokens and sessions cannot be read or changed', error);
  }
}
