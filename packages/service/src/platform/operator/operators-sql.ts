import { randomUUID } from 'node:crypto';

import type { Clock } from '@footbridge/runtime/clock';
import { sql } from 'kysely';
import type { Selectable } from 'kysely';

import { guarded, readStored, TEXTS } from '../sql/queries.ts';
import type { Database } from '../sql/open-database.ts';
import type { Schema } from '../sql/schema.ts';
import type { TimedPage } from '../timed-page.ts';

/** A token that the operator created for another user. `locations` is null for a token that sees all of them. */
export interface OperatorToken {
  readonly id: string;
  readonly label: string;
  readonly readOnly: boolean;
  readonly locations: readonly string[] | null;
  readonly createdAt: number;
}

export interface NewOperatorToken extends Pick<OperatorToken, 'label' | 'readOnly' | 'locations'> {
  readonly tokenHash: string;
}

/** A browser that signed in with a token. */
export interface OperatorSession {
  /** The hash of the token that it signed in with. */
  readonly tokenHash: string;
  readonly createdAt: number;
  readonly lastSeenAt: number;
}

type Row = Selectable<Schema['operator_tokens']>;

const queried = guarded('operator tokens and sessions cannot be read or changed');

/** Operator tokens, browser sessions and codes that sign a browser in once. Only hashes are stored. */
export function createOperators({ db, clock }: { db: Database; clock: Clock }) {
  return {
    addToken: (token: NewOperatorToken): Promise<OperatorToken> =>
      queried(async () => {
        const row = rowOf(token, clock.now());
        await db.insertInto('operator_tokens').values(row).execute();
        return tokenOf(row);
      }),

    /** Lists a page of the tokens, by their creation and id. */
    listTokens: ({ limit, after }: TimedPage): Promise<OperatorToken[]> =>
      queried(async () => {
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

    findToken: (tokenHash: string): Promise<OperatorToken | undefined> =>
      queried(async () => {
        const row = await db
          .selectFrom('operator_tokens')
          .selectAll()
          .where('token_hash', '=', tokenHash)
          .executeTakeFirst();
        return row === undefined ? undefined : tokenOf(row);
      }),

    /** Also ends the sessions of the token. */
    removeToken: (id: string): Promise<boolean> =>
      queried(() =>
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

    addSession: (idHash: string, tokenHash: string): Promise<void> =>
      queried(async () => {
        const at = clock.now();
        await db
          .insertInto('operator_sessions')
          .values({ id_hash: idHash, token_hash: tokenHash, created_at: at, last_seen_at: at })
          .execute();
      }),

    findSession: (idHash: string): Promise<OperatorSession | undefined> =>
      queried(async () => {
        const row = await db
          .selectFrom('operator_sessions')
          .selectAll()
          .where('id_hash', '=', idHash)
          .executeTakeFirst();
        return row === undefined
          ? undefined
          : { tokenHash: row.token_hash, createdAt: row.created_at, lastSeenAt: row.last_seen_at };
      }),

    /** Records activity, unless the session has ended. */
    touchSession: (idHash: string): Promise<void> =>
      queried(async () => {
        await db
          .updateTable('operator_sessions')
          .set({ last_seen_at: clock.now() })
          .where('id_hash', '=', idHash)
          .execute();
      }),

    removeSession: (idHash: string): Promise<void> =>
      queried(async () => {
        await db.deleteFrom('operator_sessions').where('id_hash', '=', idHash).execute();
      }),

    addSignInCode: (codeHash: string, tokenHash: string, expiresAt: number): Promise<void> =>
      queried(async () => {
        await db
          .insertInto('sign_in_codes')
          .values({ code_hash: codeHash, token_hash: tokenHash, expires_at: expiresAt })
          .execute();
      }),

    /** Resolves with the hash of the token that created the code, at most once and never after it has expired. */
    takeSignInCode: (codeHash: string): Promise<string | undefined> =>
      queried(async () => {
        const row = await db
          .deleteFrom('sign_in_codes')
          .where('code_hash', '=', codeHash)
          .returning(['token_hash', 'expires_at'])
          .executeTakeFirst();
        return row !== undefined && row.expires_at > clock.now() ? row.token_hash : undefined;
      }),

    /** Deletes sessions that were last seen, or created, before the given times, and expired codes. */
    prune: ({ lastSeen, created }: { lastSeen: number; created: number }): Promise<void> =>
      queried(async () => {
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

export type Operators = ReturnType<typeof createOperators>;
