import type { Clock } from '@footbridge/runtime/clock';
import { sql } from 'kysely';
import type { ExpressionBuilder, Generated, Selectable, Transaction } from 'kysely';

import { guarded, inChunks } from '../../platform/sql/queries.ts';
import type { Database, OpenDatabase } from '../../platform/sql/open-database.ts';
import type { Schema } from '../../platform/sql/schema.ts';
import { KEY_ID_LENGTH } from './vault.ts';
import type { Vault } from './vault.ts';

declare module '../../platform/sql/schema.ts' {
  interface Schema {
    oauth_grants: {
      /** `location` rows are keyed by locationId, `company` rows by companyId. */
      kind: 'location' | 'company';
      owner_id: string;
      company_id: string | null;
      /** Ciphertexts, `keyId.nonce.tag.data`. */
      access_token: string;
      refresh_token: string | null;
      expires_at: number;
      /** `expected` and `uninstalled` rows have empty tokens. */
      state: 'expected' | 'active' | 'reauth_required' | 'uninstalled';
      last_error: string | null;
      refreshed_at: number;
      /** When the app was installed or uninstalled last, by the CRM's clock. An older event changes nothing. */
      event_at: number;
      /** 1: issued to the company, and therefore uninstalled with it. */
      derived: number;
      /** When the CRM first refused the tokens of this location. A time before the location was last expected does not count. */
      refused_at: Generated<number | null>;
      /** When an uninstallation without a time was announced last. Null once the CRM was asked whether it still accepts the tokens. */
      doubted_at: Generated<number | null>;
      created_at: number;
      updated_at: number;
    };
    private_tokens: { location_id: string; token: string; updated_at: number };
  }
}

/** The grant of a location, or of a company from which the grants of its locations are derived (O9). */
export type GrantKind = 'location' | 'company';

export interface TokenPair {
  readonly accessToken: string;
  /** Null when the CRM issued none: the grant then expires with its access token, unless it can be derived again from its company's. */
  readonly refreshToken: string | null;
  readonly expiresAt: number;
}

/**
 * `expected`: the CRM announced the installation in a location of a company whose grant has not arrived yet (E2). `uninstalled`: the
 * tokens were deleted (E3). `unreadable`: it is stored as active, but no configured key decrypts its tokens.
 */
export type GrantState = StoredGrantState | 'unreadable';
export type StoredGrantState = 'expected' | 'active' | 'reauth_required' | 'uninstalled';

export interface GrantView {
  readonly kind: GrantKind;
  readonly ownerId: string;
  readonly companyId: string | null;
  readonly state: GrantState;
  readonly expiresAt: number;
  readonly refreshedAt: number;
  /** A short reason, never a token. */
  readonly lastError: string | null;
}

/** A grant that is not active may have empty tokens. */
export interface Grant extends GrantView, TokenPair {}

export interface NewGrant extends TokenPair {
  readonly kind: GrantKind;
  readonly ownerId: string;
  readonly companyId: string | null;
  /** When the CRM issued the tokens, by its clock; undefined when unknown. */
  readonly issuedAt?: number | undefined;
  /** Issued to the company of the location, and therefore uninstalled with it. */
  readonly isDerived?: boolean;
}

/** An announced installation or uninstallation. `at` is the CRM's time; an event without one is newer than all before it. */
export interface InstallEvent {
  readonly kind: GrantKind;
  readonly ownerId: string;
  readonly companyId: string | null;
  readonly at: number | undefined;
}

/** An uninstallation without a time was announced: the event may be late, or a copy of an earlier one. */
export interface Doubt {
  readonly kind: GrantKind;
  readonly ownerId: string;
  readonly doubtedAt: number;
}

/** The CRM refused to issue the tokens of a location to this company. */
export interface Refusal {
  readonly ownerId: string;
  readonly companyId: string;
  readonly requestedAt: number;
  /** The location is removed if its first refusal is not newer than this. */
  readonly firstUntil: number;
}

/**
 * Replaces the tokens that were read with new ones. Resolves with the stored grant once it is on disk: another one if it changed in
 * between, undefined if it was removed.
 */
export type Commit = (
  tokens: TokenPair & { readonly companyId?: string | null },
) => Promise<Grant | undefined>;

export interface GrantsDeps {
  readonly database: Pick<OpenDatabase, 'db' | 'engine'>;
  readonly clock: Clock;
  readonly vault: Vault;
}

type Row = Selectable<Schema['oauth_grants']>;
/** The ids of the keys, or the complete columns, which begin with them. */
type KeyIds = Pick<Row, 'access_token' | 'refresh_token'>;
type DatabaseOrTransaction = Database | Transaction<Schema>;

/** On PostgreSQL a refresh holds a pooled connection during a network call. The limit keeps connections free for other queries. */
const MAX_CONCURRENT_REFRESHES = 4;

const queried = guarded('the token store is unavailable');

/** OAuth grants and private integration tokens at rest. Tokens are encrypted and bound to their row (O6). */
export function createGrants({ database, clock, vault }: GrantsDeps) {
  const { db } = database;
  const withLock = createKeyedMutex();
  const withSlot = createSemaphore(MAX_CONCURRENT_REFRESHES);

  const read = (queries: DatabaseOrTransaction, kind: GrantKind, ownerId: string) =>
    queries.selectFrom('oauth_grants').selectAll().where('kind', '=', kind).where('owner_id', '=', ownerId);

  const sealed = (kind: GrantKind, ownerId: string, tokens: TokenPair) => ({
    access_token: vault.seal(tokens.accessToken, { kind, owner: ownerId, field: 'access_token' }),
    refresh_token:
      tokens.refreshToken === null
        ? null
        : vault.seal(tokens.refreshToken, { kind, owner: ownerId, field: 'refresh_token' }),
    expires_at: tokens.expiresAt,
  });

  const viewOf = (row: Parameters<typeof storedView>[0] & KeyIds): GrantView =>
    canOpen(row) ? storedView(row) : unreadable(storedView(row));

  /** By the ids of the keys: decrypting all grants for each list would take long. */
  const canOpen = ({ access_token, refresh_token }: KeyIds): boolean =>
    vault.hasKeyOf(access_token) && (refresh_token === null || vault.hasKeyOf(refresh_token));

  function opened(row: Row): Grant {
    const { kind, owner_id: owner } = row;
    if (row.state === 'expected' || row.state === 'uninstalled')
      return { ...storedView(row), accessToken: '', refreshToken: null };
    const accessToken = vault.open(row.access_token, { kind, owner, field: 'access_token' });
    const refreshToken =
      row.refresh_token === null
        ? null
        : vault.open(row.refresh_token, { kind, owner, field: 'refresh_token' });
    const view = storedView(row);
    const tokens = { accessToken: accessToken ?? '', refreshToken: refreshToken ?? null };
    if (accessToken !== undefined && refreshToken !== undefined) return { ...view, ...tokens };
    return { ...unreadable(view), ...tokens };
  }

  /** Replaces the tokens that were read as `grant`, unless they were refreshed in between: then the newer ones stay. */
  async function replace(
    queries: DatabaseOrTransaction,
    grant: Grant,
    tokens: Parameters<Commit>[0],
  ): Promise<Grant | undefined> {
    const now = after(grant.refreshedAt, clock.now());
    await queries
      .updateTable('oauth_grants')
      .set({
        ...sealed(grant.kind, grant.ownerId, tokens),
        company_id: tokens.companyId ?? grant.companyId,
        state: 'active',
        last_error: null,
        refreshed_at: now,
        updated_at: now,
      })
      .where('kind', '=', grant.kind)
      .where('owner_id', '=', grant.ownerId)
      .where('refreshed_at', '=', grant.refreshedAt)
      .execute();
    const row = await read(queries, grant.kind, grant.ownerId).executeTakeFirst();
    return row === undefined ? undefined : opened(row);
  }

  function exclusivelyOnServer<T>(
    kind: GrantKind,
    ownerId: string,
    work: (grant: Grant, commit: Commit) => Promise<T>,
  ): Promise<T | undefined> {
    return withSlot(() =>
      db.transaction().execute(async (trx) => {
        const row = await read(trx, kind, ownerId).forUpdate().executeTakeFirst();
        if (row === undefined) return undefined;
        const grant = opened(row);
        return work(grant, (tokens) => replace(trx, grant, tokens));
      }),
    );
  }

  // One process owns the file, so a lock in memory is enough. A transaction would block all other writes during a network call.
  function exclusivelyInFile<T>(
    kind: GrantKind,
    ownerId: string,
    work: (grant: Grant, commit: Commit) => Promise<T>,
  ): Promise<T | undefined> {
    return withLock(`${kind} ${ownerId}`, async () => {
      const row = await read(db, kind, ownerId).executeTakeFirst();
      if (row === undefined) return undefined;
      const grant = opened(row);
      return work(grant, (tokens) => durably(db, (trx) => replace(trx, grant, tokens)));
    });
  }

  const exclusively = database.engine === 'postgres' ? exclusivelyOnServer : exclusivelyInFile;
  const write = <T>(task: (queries: DatabaseOrTransaction) => Promise<T>) =>
    database.engine === 'postgres' ? task(db) : durably(db, task);
  const transaction = <T>(task: (trx: Transaction<Schema>) => Promise<T>) =>
    database.engine === 'postgres' ? db.transaction().execute(task) : durably(db, task);
  /** Reads a row that the transaction is about to change. */
  const locked = (trx: Transaction<Schema>, kind: GrantKind, ownerId: string) => {
    const row = read(trx, kind, ownerId);
    return (database.engine === 'postgres' ? row.forUpdate() : row).executeTakeFirst();
  };

  return {
    find: (kind: GrantKind, ownerId: string): Promise<Grant | undefined> =>
      queried(async () => {
        const row = await read(db, kind, ownerId).executeTakeFirst();
        return row === undefined ? undefined : opened(row);
      }),

    /**
     * Replaces any existing grant of the owner. Resolves with undefined when the app was uninstalled after the tokens were issued: then
     * they are not stored.
     */
    store: (grant: NewGrant): Promise<Grant | undefined> =>
      queried(() => write((queries) => store(queries, grant))),

    /**
     * Records the installation in a location that has no tokens yet. Does not change the state when a newer event is known; may be
     * repeated. Resolves with the grant as it is afterwards.
     */
    expect: (event: InstallEvent): Promise<GrantView> =>
      queried(() => transaction((trx) => expect(trx, event))),

    /**
     * Deletes the tokens of the owner and those derived from them. Does not change the state when a newer event is known; may be repeated.
     * With `tokensOf`, changes nothing if the tokens of that grant were replaced. Resolves with the owners whose calls must stop.
     */
    uninstall: (event: InstallEvent, tokensOf?: Grant): Promise<string[]> =>
      queried(() => transaction((trx) => uninstall(trx, event, tokensOf))),

    /** Records an uninstallation without a time. Resolves with undefined when there are no tokens. */
    doubt: (kind: GrantKind, ownerId: string): Promise<Doubt | undefined> =>
      queried(async () => {
        const row = await db
          .updateTable('oauth_grants')
          // Grows even when the clock does not: `trust` must not end a doubt that was raised after the one it read.
          .set((is) => ({
            doubted_at: sql<number>`case when ${is.ref('doubted_at')} >= ${clock.now()} then ${is.ref('doubted_at')} + 1 else ${clock.now()} end`,
          }))
          .where('kind', '=', kind)
          .where('owner_id', '=', ownerId)
          .where('access_token', '!=', '')
          .returning(DOUBT)
          .executeTakeFirst();
        return row === undefined ? undefined : doubtOf(row);
      }),

    doubted: (): Promise<Doubt[]> =>
      queried(async () => {
        const rows = await db
          .selectFrom('oauth_grants')
          .select(DOUBT)
          .where('doubted_at', 'is not', null)
          .execute();
        return rows.map(doubtOf);
      }),

    /** Ends a doubt that was not raised again. */
    trust: ({ kind, ownerId, doubtedAt }: Doubt): Promise<void> =>
      queried(async () => {
        await db
          .updateTable('oauth_grants')
          .set({ doubted_at: null })
          .where('kind', '=', kind)
          .where('owner_id', '=', ownerId)
          .where('doubted_at', '=', doubtedAt)
          .execute();
      }),

    /** Lists the locations that were expected, or expected again, at that time or later. */
    expected: (since: number): Promise<GrantView[]> =>
      queried(async () => {
        const rows = await db
          .selectFrom('oauth_grants')
          .selectAll()
          .where('state', '=', 'expected')
          .where('updated_at', '>=', since)
          .orderBy('owner_id')
          .execute();
        return rows.map(viewOf);
      }),

    /** Removes the locations that were last expected before that time. Resolves with their ids. */
    removeExpectedBefore: (time: number): Promise<string[]> =>
      queried(async () => {
        const rows = await db
          .deleteFrom('oauth_grants')
          .where('state', '=', 'expected')
          .where('updated_at', '<', time)
          // Nodes of earlier versions record another announcement only here.
          .where('event_at', '<', time)
          .returning('owner_id')
          .execute();
        return rows.map(({ owner_id }) => owner_id);
      }),

    /**
     * Runs `work` with the stored grant under a lock that all processes on the database respect, because a refresh token works once.
     * Committed tokens are on disk when it resolves. Resolves with undefined when there is no such grant.
     */
    exclusively: <T>(
      kind: GrantKind,
      ownerId: string,
      work: (grant: Grant, commit: Commit) => Promise<T>,
    ): Promise<T | undefined> => queried(() => exclusively(kind, ownerId, work)),

    /** Records a failure, unless the grant was refreshed after it was read. */
    recordFailure: (
      grant: GrantView,
      failure: { state: StoredGrantState; lastError: string },
    ): Promise<void> => queried(() => recordFailure(grant, failure)),

    /** Lists all grants or a page of them, by kind and owner. `after`: the last grant of the page before. */
    list: (page?: {
      limit: number;
      after?: { kind: GrantKind; ownerId: string } | undefined;
    }): Promise<GrantView[]> =>
      queried(async () => {
        // Without the tokens, which are most of the table: the operator's lists read it often.
        let query = db
          .selectFrom('oauth_grants')
          .select(VIEWED)
          .select(KEY_IDS)
          .orderBy('kind')
          .orderBy('owner_id');
        if (page !== undefined) query = query.limit(page.limit);
        if (page?.after !== undefined) {
          const { kind, ownerId } = page.after;
          query = query.where(sql<boolean>`(kind, owner_id) > (${kind}, ${ownerId})`);
        }
        return (await query.execute()).map(viewOf);
      }),

    /** Lists the grants of these locations, in any order. */
    ofLocations: (locationIds: readonly string[]): Promise<GrantView[]> =>
      queried(async () => {
        const rows = await inChunks(locationIds, (chunk) =>
          db
            .selectFrom('oauth_grants')
            .select(VIEWED)
            .select(KEY_IDS)
            .where('kind', '=', 'location')
            .where('owner_id', 'in', chunk)
            .execute(),
        );
        return rows.map(viewOf);
      }),

    /** Lists all locations with a grant, or a page of them, in the order of the database. An empty string starts at the beginning. */
    listLocationIds: (page?: { limit: number; after: string }): Promise<string[]> =>
      queried(async () => {
        const all = db.selectFrom('oauth_grants').select('owner_id').where('kind', '=', 'location');
        const rows = await (
          page === undefined
            ? all
            : all.where('owner_id', '>', page.after).orderBy('owner_id').limit(page.limit)
        ).execute();
        return rows.map(({ owner_id }) => owner_id);
      }),

    /** Resolves with true if the grant existed. */
    remove: (kind: GrantKind, ownerId: string): Promise<boolean> =>
      queried(async () => {
        const { numDeletedRows } = await db
          .deleteFrom('oauth_grants')
          .where('kind', '=', kind)
          .where('owner_id', '=', ownerId)
          .executeTakeFirst();
        return numDeletedRows > 0n;
      }),

    /**
     * Records the first refusal of the tokens of an expected location, or removes the location and resolves with true if that was long
     * enough ago. Ignores refusals from before the location was last expected, and requests from before it was expected again.
     */
    refuse: ({ ownerId, companyId, requestedAt, firstUntil }: Refusal): Promise<boolean> =>
      queried(async () => {
        const isRefused = (row: ExpressionBuilder<Schema, 'oauth_grants'>) =>
          row.and([
            row('kind', '=', 'location'),
            row('owner_id', '=', ownerId),
            row('company_id', '=', companyId),
            row('state', '=', 'expected'),
            row('updated_at', '<=', requestedAt),
          ]);
        // A refusal from before the location was last expected does not count.
        const { numDeletedRows } = await db
          .deleteFrom('oauth_grants')
          .where(isRefused)
          .where('refused_at', '<=', firstUntil)
          .whereRef('refused_at', '>=', 'updated_at')
          .whereRef('refused_at', '>=', 'event_at')
          .executeTakeFirst();
        if (numDeletedRows > 0n) return true;
        await db
          .updateTable('oauth_grants')
          .set({ refused_at: requestedAt })
          .where(isRefused)
          .where((row) =>
            row.or([
              row('refused_at', 'is', null),
              row('refused_at', '<', row.ref('updated_at')),
              row('refused_at', '<', row.ref('event_at')),
            ]),
          )
          .execute();
        return false;
      }),

    privateToken: (locationId: string): Promise<string | undefined> =>
      queried(async () => {
        const row = await db
          .selectFrom('private_tokens')
          .select('token')
          .where('location_id', '=', locationId)
          .executeTakeFirst();
        return row === undefined ? undefined : vault.open(row.token, privatePlace(locationId));
      }),

    setPrivateToken: (locationId: string, token: string): Promise<void> =>
      queried(() =>
        write(async (queries) => {
          const row = { token: vault.seal(token, privatePlace(locationId)), updated_at: clock.now() };
          await queries
            .insertInto('private_tokens')
            .values({ location_id: locationId, ...row })
            .onConflict((conflict) => conflict.column('location_id').doUpdateSet(row))
            .execute();
        }),
      ),

    removePrivateToken: (locationId: string): Promise<boolean> =>
      queried(async () => {
        const { numDeletedRows } = await db
          .deleteFrom('private_tokens')
          .where('location_id', '=', locationId)
          .executeTakeFirst();
        return numDeletedRows > 0n;
      }),

    /**
     * Lists all locations with a private token, or a page of them, in the order of the database. An empty string starts at the beginning.
     * `isReadable`: a configured key decrypts the token.
     */
    privateTokens: (page?: {
      limit: number;
      after: string;
    }): Promise<{ locationId: string; updatedAt: number; isReadable: boolean }[]> =>
      queried(async () => {
        const all = db.selectFrom('private_tokens').selectAll().orderBy('location_id');
        const rows = await (
          page === undefined ? all : all.where('location_id', '>', page.after).limit(page.limit)
        ).execute();
        return rows.map((row) => ({
          locationId: row.location_id,
          updatedAt: row.updated_at,
          isReadable: vault.open(row.token, privatePlace(row.location_id)) !== undefined,
        }));
      }),

    /** Lists the owners of active grants and private tokens that no configured key decrypts. */
    unreadable: (): Promise<{ kind: GrantKind | 'private'; ownerId: string }[]> =>
      queried(async () => {
        const keys = await db
          .selectFrom('oauth_grants')
          .select(['kind', 'owner_id'])
          .select(KEY_IDS)
          .where('state', '=', 'active')
          .execute();
        const tokens = await db
          .selectFrom('private_tokens')
          .select(['location_id', sql<string>`substr(token, 1, ${sql.lit(KEY_ID_LENGTH)})`.as('key')])
          .execute();
        return [
          ...keys.filter((row) => !canOpen(row)).map(({ kind, owner_id }) => ({ kind, ownerId: owner_id })),
          ...tokens
            .filter(({ key }) => !vault.hasKeyOf(key))
            .map(({ location_id }) => ({ kind: 'private' as const, ownerId: location_id })),
        ];
      }),

    /** Encrypts all tokens with the newest key, so that older keys can be removed. */
    rotate: (): Promise<{ encrypted: number; unreadable: number }> =>
      queried(async () => {
        const privateTokens = await rotatePrivateTokens();
        const granted = await rotateGrants();
        return {
          encrypted: privateTokens.encrypted + granted.encrypted,
          unreadable: privateTokens.unreadable + granted.unreadable,
        };
      }),
  };

  async function rotatePrivateTokens() {
    const count = { encrypted: 0, unreadable: 0 };
    for (const row of await db.selectFrom('private_tokens').selectAll().execute()) {
      if (vault.isCurrent(row.token)) continue;
      const place = privatePlace(row.location_id);
      const token = vault.open(row.token, place);
      if (token === undefined) {
        count.unreadable++;
        continue;
      }
      // Unless it was replaced in between.
      await write((queries) =>
        queries
          .updateTable('private_tokens')
          .set({ token: vault.seal(token, place) })
          .where('location_id', '=', row.location_id)
          .where('token', '=', row.token)
          .execute(),
      );
      count.encrypted++;
    }
    return count;
  }

  async function rotateGrants() {
    const count = { encrypted: 0, unreadable: 0 };
    for (const row of await db.selectFrom('oauth_grants').selectAll().execute()) {
      if (row.access_token === '') continue;
      if (vault.isCurrent(row.access_token) && vault.isCurrent(row.refresh_token ?? row.access_token))
        continue;
      const { kind, owner_id: owner } = row;
      const accessToken = vault.open(row.access_token, { kind, owner, field: 'access_token' });
      const refreshToken =
        row.refresh_token === null
          ? null
          : vault.open(row.refresh_token, { kind, owner, field: 'refresh_token' });
      if (accessToken === undefined || refreshToken === undefined) {
        count.unreadable++;
        continue;
      }
      await write((queries) =>
        queries
          .updateTable('oauth_grants')
          .set(sealed(kind, owner, { accessToken, refreshToken, expiresAt: row.expires_at }))
          .where('kind', '=', kind)
          .where('owner_id', '=', owner)
          .where('access_token', '=', row.access_token)
          .execute(),
      );
      count.encrypted++;
    }
    return count;
  }

  async function store(queries: DatabaseOrTransaction, grant: NewGrant): Promise<Grant | undefined> {
    const before = await read(queries, grant.kind, grant.ownerId).executeTakeFirst();
    const eventAt = grant.issuedAt ?? Math.max(clock.now(), before?.event_at ?? 0);
    const now = after(before?.refreshed_at ?? 0, clock.now());
    const row = {
      event_at: Math.max(eventAt, before?.event_at ?? 0),
      derived: grant.isDerived === true ? 1 : 0,
      company_id: grant.companyId,
      ...sealed(grant.kind, grant.ownerId, grant),
      state: 'active' as const,
      last_error: null,
      refreshed_at: now,
      updated_at: now,
    };
    await queries
      .insertInto('oauth_grants')
      .values({ kind: grant.kind, owner_id: grant.ownerId, created_at: now, ...row })
      .onConflict((conflict) =>
        conflict
          .columns(['kind', 'owner_id'])
          .doUpdateSet(row)
          .where((is) =>
            is.or([
              is('oauth_grants.state', '!=', 'uninstalled'),
              is('oauth_grants.event_at', '<', eventAt + ISSUED_WITHIN_MS),
            ]),
          ),
      )
      .execute();
    const stored = opened(await read(queries, grant.kind, grant.ownerId).executeTakeFirstOrThrow());
    return stored.state === 'uninstalled' ? undefined : stored;
  }

  async function expect(trx: Transaction<Schema>, event: InstallEvent): Promise<GrantView> {
    // Locks the company first, as `uninstall` does: in the opposite order the two can deadlock.
    const companyId =
      event.companyId ?? (await read(trx, event.kind, event.ownerId).executeTakeFirst())?.company_id;
    const company = await locked(trx, 'company', companyId ?? '');
    const before = await locked(trx, event.kind, event.ownerId);
    const newest = Math.max(before?.event_at ?? 0, company?.event_at ?? 0);
    const at = event.at ?? Math.max(clock.now(), newest);
    if (before === undefined || (before.state === 'uninstalled' && before.event_at < at)) {
      const isUninstalledSince = company?.state === 'uninstalled' && company.event_at > at;
      const [state, eventAt] = isUninstalledSince
        ? (['uninstalled', newest] as const)
        : (['expected', at] as const);
      await empty(trx, event, state, eventAt, before);
    } else if (before.state === 'expected' || (before.event_at <= at && before.state !== 'uninstalled'))
      await trx
        .updateTable('oauth_grants')
        .set({
          event_at: Math.max(at, before.event_at),
          company_id: companyAfter(before, event, at),
          ...(before.state === 'expected' && { updated_at: clock.now() }),
        })
        .where('kind', '=', event.kind)
        .where('owner_id', '=', event.ownerId)
        .execute();
    return viewOf(await read(trx, event.kind, event.ownerId).executeTakeFirstOrThrow());
  }

  async function uninstall(
    trx: Transaction<Schema>,
    event: InstallEvent,
    tokensOf: Grant | undefined,
  ): Promise<string[]> {
    const before = await locked(trx, event.kind, event.ownerId);
    if (tokensOf !== undefined && before?.refreshed_at !== tokensOf.refreshedAt) return [];
    const at = event.at ?? Math.max(clock.now(), before?.event_at ?? 0);
    if (before !== undefined && before.event_at > at) return [];
    await empty(trx, event, 'uninstalled', at, before);
    if (event.kind === 'location') return [event.ownerId];
    const derived = await trx
      .selectFrom('oauth_grants')
      .selectAll()
      .where('kind', '=', 'location')
      .where('company_id', '=', event.ownerId)
      .where('derived', '=', 1)
      .where('state', '!=', 'uninstalled')
      .orderBy('owner_id')
      .execute();
    for (const row of derived) {
      const { owner_id: ownerId, company_id: companyId, event_at: installedAt } = row;
      // Installed again since: its tokens end with the company's, and it waits for new ones.
      const state = installedAt > at ? 'expected' : 'uninstalled';
      await empty(trx, { kind: 'location', ownerId, companyId }, state, Math.max(at, installedAt), row);
    }
    return [event.ownerId, ...derived.map((row) => row.owner_id)];
  }

  /** Deletes the tokens. A refresh in flight then cannot commit, since `refreshed_at` has changed. */
  async function empty(
    trx: Transaction<Schema>,
    { kind, ownerId, companyId }: Omit<InstallEvent, 'at'>,
    state: 'expected' | 'uninstalled',
    eventAt: number,
    before: Row | undefined,
  ): Promise<void> {
    const now = after(before?.refreshed_at ?? 0, clock.now());
    const row = {
      company_id: companyId ?? before?.company_id ?? null,
      access_token: '',
      refresh_token: null,
      expires_at: 0,
      state,
      last_error: null,
      refreshed_at: now,
      updated_at: now,
      event_at: eventAt,
      doubted_at: null,
      derived: state === 'expected' ? 1 : (before?.derived ?? 0),
    };
    await trx
      .insertInto('oauth_grants')
      .values({ kind, owner_id: ownerId, created_at: now, ...row })
      .onConflict((conflict) => conflict.columns(['kind', 'owner_id']).doUpdateSet(row))
      .execute();
  }

  async function recordFailure(
    grant: GrantView,
    failure: { state: StoredGrantState; lastError: string },
  ): Promise<void> {
    await db
      .updateTable('oauth_grants')
      .set({ state: failure.state, last_error: failure.lastError, updated_at: clock.now() })
      .where('kind', '=', grant.kind)
      .where('owner_id', '=', grant.ownerId)
      .where('refreshed_at', '=', grant.refreshedAt)
      .execute();
  }
}

export type Grants = ReturnType<typeof createGrants>;

/** The CRM gives the time of issue in whole seconds. Within one second, the last arrival wins. */
const ISSUED_WITHIN_MS = 1000;

/** A location that waits for its tokens may have moved to another company. */
const companyAfter = (before: Row, { companyId }: InstallEvent, at: number): string | null =>
  before.state === 'expected' && before.event_at <= at
    ? (companyId ?? before.company_id)
    : (before.company_id ?? companyId);

const VIEWED = [
  'kind',
  'owner_id',
  'company_id',
  'state',
  'expires_at',
  'refreshed_at',
  'last_error',
] as const;

const KEY_IDS = [
  sql<string>`substr(access_token, 1, ${sql.lit(KEY_ID_LENGTH)})`.as('access_token'),
  sql<string | null>`substr(refresh_token, 1, ${sql.lit(KEY_ID_LENGTH)})`.as('refresh_token'),
] as const;

const DOUBT = ['kind', 'owner_id', 'doubted_at'] as const;

const doubtOf = (row: Pick<Row, (typeof DOUBT)[number]>): Doubt => ({
  kind: row.kind,
  ownerId: row.owner_id,
  doubtedAt: row.doubted_at ?? 0,
});

const storedView = (row: Pick<Row, (typeof VIEWED)[number]>): GrantView => ({
  kind: row.kind,
  ownerId: row.owner_id,
  companyId: row.company_id,
  state: row.state,
  expiresAt: row.expires_at,
  refreshedAt: row.refreshed_at,
  lastError: row.last_error,
});

const unreadable = <View extends GrantView>(view: View): View =>
  view.state === 'active'
    ? { ...view, state: 'unreadable', lastError: 'no encryption key decrypts this grant' }
    : view;

const privatePlace = (locationId: string) => ({ kind: 'private', owner: locationId, field: 'token' });

// `refreshed_at` identifies a refresh, so it grows even when the wall clock does not.
const after = (earlier: number, now: number) => Math.max(now, earlier + 1);

/** A commit on SQLite survives a power failure only when it is synced. A refresh token that is lost cannot be issued again. */
function durably<T>(db: Database, task: (trx: Transaction<Schema>) => Promise<T>): Promise<T> {
  return db.connection().execute(async (connection) => {
    await sql`pragma synchronous = full`.execute(connection);
    try {
      return await connection.transaction().execute(task);
    } finally {
      await sql`pragma synchronous = normal`.execute(connection);
    }
  });
}

/** Runs one task at a time per key, in call order. A failed task does not affect the next one. */
function createKeyedMutex() {
  const tails = new Map<string, Promise<unknown>>();
  return async function withLock<T>(key: string, task: () => Promise<T>): Promise<T> {
    const previous = tails.get(key) ?? Promise.resolve();
    const result = previous.then(task);
    const tail = result.catch(() => {});
    tails.set(key, tail);
    try {
      return await result;
    } finally {
      if (tails.get(key) === tail) tails.delete(key);
    }
  };
}

/** Runs at most `count` tasks at once. */
function createSemaphore(count: number) {
  const waiting: (() => void)[] = [];
  let free = count;
  return async function withSlot<T>(task: () => Promise<T>): Promise<T> {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}
