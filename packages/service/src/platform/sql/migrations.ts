import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

const first: Migration = {
  async up(db: Kysely<unknown>) {
    const table = (name: string) => db.schema.createTable(name);
    await table('licenses')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('label', 'text', (c) => c.notNull())
      .addColumn('key_hash', 'text', (c) => c.notNull().unique())
      .addColumn('key_hint', 'text', (c) => c.notNull())
      .addColumn('max_seats', 'integer', (c) => c.notNull())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('updated_at', 'bigint', (c) => c.notNull())
      .execute();
    await table('devices')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('license_id', 'text', (c) => c.notNull().references('licenses.id'))
      .addColumn('device_id', 'text', (c) => c.notNull())
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('os_version', 'text', (c) => c.notNull())
      .addColumn('app_version', 'text', (c) => c.notNull())
      .addColumn('token_hash', 'text', (c) => c.notNull().unique())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('activated_at', 'bigint', (c) => c.notNull())
      .addColumn('last_seen_at', 'bigint', (c) => c.notNull())
      .addColumn('updated_at', 'bigint', (c) => c.notNull())
      .addUniqueConstraint('devices_license_device', ['license_id', 'device_id'])
      .execute();
    await table('locations')
      .addColumn('location_id', 'text', (c) => c.primaryKey())
      .addColumn('license_id', 'text', (c) => c.references('licenses.id'))
      .addColumn('state', 'text', (c) => c.notNull())
      .addColumn('device_row', 'text')
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('updated_at', 'bigint', (c) => c.notNull())
      .execute();
    await table('crm_keys')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('label', 'text', (c) => c.notNull())
      .addColumn('scheme', 'text', (c) => c.notNull())
      .addColumn('header', 'text', (c) => c.notNull())
      .addColumn('public_key', 'text', (c) => c.notNull())
      .addColumn('fingerprint', 'text', (c) => c.notNull())
      .addColumn('locations', 'text')
      .addColumn('enabled', 'integer', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('updated_at', 'bigint', (c) => c.notNull())
      .execute();
    await table('oauth_grants')
      .addColumn('kind', 'text', (c) => c.notNull())
      .addColumn('owner_id', 'text', (c) => c.notNull())
      .addColumn('company_id', 'text')
      .addColumn('access_token', 'text', (c) => c.notNull())
      .addColumn('refresh_token', 'text')
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .addColumn('state', 'text', (c) => c.notNull())
      .addColumn('last_error', 'text')
      .addColumn('refreshed_at', 'bigint', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('updated_at', 'bigint', (c) => c.notNull())
      .addPrimaryKeyConstraint('oauth_grants_key', ['kind', 'owner_id'])
      .execute();
    await table('private_tokens')
      .addColumn('location_id', 'text', (c) => c.primaryKey())
      .addColumn('token', 'text', (c) => c.notNull())
      .addColumn('updated_at', 'bigint', (c) => c.notNull())
      .execute();
    await table('inbound_guids')
      .addColumn('location_id', 'text', (c) => c.notNull())
      .addColumn('guid', 'text', (c) => c.notNull())
      .addColumn('state', 'text', (c) => c.notNull())
      .addColumn('owner', 'text', (c) => c.notNull())
      .addColumn('epoch', 'bigint', (c) => c.notNull())
      .addColumn('uncertain', 'integer', (c) => c.notNull())
      .addColumn('crm_message_id', 'text')
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('updated_at', 'bigint', (c) => c.notNull())
      .addPrimaryKeyConstraint('inbound_guids_key', ['location_id', 'guid'])
      .execute();
    await db.schema.createIndex('inbound_guids_age').on('inbound_guids').column('updated_at').execute();
    await table('messages')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('direction', 'text', (c) => c.notNull())
      .addColumn('location_id', 'text', (c) => c.notNull())
      .addColumn('message_id', 'text')
      .addColumn('kind', 'text', (c) => c.notNull())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('code', 'text')
      .addColumn('phone_masked', 'text')
      .addColumn('length', 'integer', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('updated_at', 'bigint', (c) => c.notNull())
      .execute();
    await db.schema.createIndex('messages_age').on('messages').columns(['created_at', 'id']).execute();
    await db.schema
      .createIndex('messages_location')
      .on('messages')
      .columns(['location_id', 'created_at'])
      .execute();
    await db.schema.createIndex('messages_message').on('messages').column('message_id').execute();
    await table('message_steps')
      .addColumn('message_id', 'text', (c) => c.notNull())
      .addColumn('seq', 'integer', (c) => c.notNull())
      .addColumn('at', 'bigint', (c) => c.notNull())
      .addColumn('step', 'text', (c) => c.notNull())
      .addColumn('detail', 'text')
      .execute();
    await db.schema
      .createIndex('message_steps_message')
      .on('message_steps')
      .columns(['message_id', 'at', 'seq'])
      .execute();
    await table('assets')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('location_id', 'text', (c) => c.notNull())
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('content_type', 'text', (c) => c.notNull())
      .addColumn('size', 'bigint', (c) => c.notNull())
      .addColumn('sha256', 'text', (c) => c.notNull())
      .addColumn('original_id', 'text')
      .addColumn('note', 'text')
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .execute();
    await db.schema.createIndex('assets_expiry').on('assets').column('expires_at').execute();
    await db.schema.createIndex('assets_location').on('assets').column('location_id').execute();
    await table('audit')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('at', 'bigint', (c) => c.notNull())
      .addColumn('actor', 'text', (c) => c.notNull())
      .addColumn('action', 'text', (c) => c.notNull())
      .addColumn('target', 'text', (c) => c.notNull())
      .addColumn('detail', 'text')
      .execute();
    await table('shared_secrets')
      .addColumn('name', 'text', (c) => c.primaryKey())
      .addColumn('value', 'text', (c) => c.notNull())
      .execute();
    await sql.raw(CHANGES[dialectOf(db)]).execute(db);
  },
};

const stepsInTheirMessage: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('messages').addColumn('steps', 'text').execute();
  },
};

const pairingCodes: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('pairing_codes')
      .addColumn('code_hash', 'text', (c) => c.primaryKey())
      .addColumn('location_id', 'text', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .addColumn('used_at', 'bigint')
      .execute();
  },
};

const operatorTokens: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('operator_tokens')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('label', 'text', (c) => c.notNull())
      .addColumn('token_hash', 'text', (c) => c.notNull().unique())
      .addColumn('read_only', 'integer', (c) => c.notNull())
      .addColumn('locations', 'text')
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .execute();
    await db.schema
      .createTable('operator_sessions')
      .addColumn('id_hash', 'text', (c) => c.primaryKey())
      .addColumn('token_hash', 'text', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('last_seen_at', 'bigint', (c) => c.notNull())
      .execute();
  },
};

const searchByCustomer: Migration = {
  async up(db: Kysely<unknown>) {
    for (const column of ['phone_hash', 'contact_hash']) {
      await db.schema.alterTable('messages').addColumn(column, 'text').execute();
      await db.schema
        .createIndex(`messages_${column}`)
        .on('messages')
        .columns([column, 'created_at'])
        .execute();
    }
  },
};

const appEvents: Migration = {
  async up(db: Kysely<unknown>) {
    for (const [column, type] of [
      ['event_at', 'bigint'],
      ['derived', 'integer'],
    ] as const)
      await db.schema
        .alterTable('oauth_grants')
        .addColumn(column, type, (c) => c.notNull().defaultTo(0))
        .execute();
  },
};

const issues: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('issues')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('kind', 'text', (c) => c.notNull())
      .addColumn('subject', 'text', (c) => c.notNull())
      .addColumn('locations', 'text')
      .addColumn('sentence', 'text', (c) => c.notNull())
      .addColumn('action', 'text', (c) => c.notNull())
      .addColumn('since', 'bigint', (c) => c.notNull())
      .addColumn('opened_at', 'bigint', (c) => c.notNull())
      .addColumn('closed_at', 'bigint')
      .addColumn('seen_by', 'text', (c) => c.notNull())
      .addColumn('seen_at', 'bigint', (c) => c.notNull())
      .execute();
    await sql`CREATE UNIQUE INDEX issues_open ON issues (kind, subject) WHERE closed_at IS NULL`.execute(db);
    await db.schema.createIndex('issues_closed').on('issues').column('closed_at').execute();
  },
};

const suppressions: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('suppressions')
      .addColumn('location_id', 'text', (c) => c.notNull())
      .addColumn('handle_hash', 'text', (c) => c.notNull())
      .addColumn('active', 'integer', (c) => c.notNull())
      .addColumn('source', 'text', (c) => c.notNull())
      .addColumn('decided_at', 'bigint', (c) => c.notNull())
      .addPrimaryKeyConstraint('suppressions_key', ['location_id', 'handle_hash'])
      .execute();
  },
};

const auditNames: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('audit').addColumn('name', 'text').execute();
  },
};

const signInCodes: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('sign_in_codes')
      .addColumn('code_hash', 'text', (c) => c.primaryKey())
      .addColumn('token_hash', 'text', (c) => c.notNull())
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .execute();
  },
};

const captures: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('captures')
      .addColumn('location_id', 'text', (c) => c.primaryKey())
      .addColumn('until_at', 'bigint', (c) => c.notNull())
      .execute();
  },
};

/** Partial indexes: each contains only rare rows, so the cost of writes and searches does not grow with the journal. */
const rareMessages: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`CREATE INDEX messages_undelivered ON messages (status, created_at, id) WHERE status <> 'delivered'`.execute(
      db,
    );
    await sql`CREATE INDEX messages_code ON messages (code, created_at, id) WHERE code IS NOT NULL`.execute(
      db,
    );
    await sql`CREATE INDEX messages_kind ON messages (kind, created_at, id) WHERE kind <> 'text'`.execute(db);
    await sql`CREATE INDEX messages_inbound ON messages (created_at, id) WHERE direction = 'inbound'`.execute(
      db,
    );
  },
};

/** Finds the files of one person by the sender. */
const assetSenders: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('assets').addColumn('sender_hash', 'text').execute();
    await sql`CREATE INDEX assets_sender ON assets (sender_hash) WHERE sender_hash IS NOT NULL`.execute(db);
  },
};

const locationRetention: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('location_retention')
      .addColumn('location_id', 'text', (c) => c.primaryKey())
      .addColumn('journal_days', 'integer')
      .addColumn('asset_days', 'integer')
      .execute();
  },
};

const alerts: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('alerts')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('receiver', 'text', (c) => c.notNull())
      .addColumn('seq', 'bigint', (c) => c.notNull())
      .addColumn('changes', 'text', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('attempts', 'integer', (c) => c.notNull())
      .addColumn('next_at', 'bigint', (c) => c.notNull())
      .addColumn('claimed_by', 'text')
      .addColumn('claimed_until', 'bigint', (c) => c.notNull())
      .addColumn('done_at', 'bigint')
      .addColumn('outcome', 'text')
      .addColumn('error', 'text')
      .execute();
    await db.schema.createIndex('alerts_order').on('alerts').columns(['receiver', 'seq']).execute();
    await sql`CREATE INDEX alerts_waiting ON alerts (receiver, seq, id) WHERE done_at IS NULL`.execute(db);
    await db.schema
      .createTable('alert_changes')
      .addColumn('receiver', 'text', (c) => c.notNull())
      .addColumn('issue_id', 'text', (c) => c.notNull())
      .addColumn('change', 'text', (c) => c.notNull())
      .addColumn('at', 'bigint', (c) => c.notNull())
      .addPrimaryKeyConstraint('alert_changes_key', ['receiver', 'issue_id', 'change'])
      .execute();
    await db.schema
      .createTable('alert_receivers')
      .addColumn('receiver', 'text', (c) => c.primaryKey())
      .addColumn('since', 'bigint', (c) => c.notNull())
      .execute();
  },
};

const reachFields: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('reach_fields')
      .addColumn('location_id', 'text', (c) => c.notNull())
      .addColumn('handle_hash', 'text', (c) => c.notNull())
      .addColumn('field_id', 'text', (c) => c.notNull())
      .addColumn('reach', 'text', (c) => c.notNull())
      .addColumn('written_at', 'bigint', (c) => c.notNull())
      .addPrimaryKeyConstraint('reach_fields_key', ['handle_hash', 'location_id'])
      .execute();
  },
};

/** The totals of `assets` per location: every upload needs them, and computing them takes longer with each file. */
const assetTotals: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('asset_totals')
      .addColumn('location_id', 'text', (c) => c.primaryKey())
      .addColumn('files', 'bigint', (c) => c.notNull())
      .addColumn('bytes', 'bigint', (c) => c.notNull())
      .execute();
    await sql`INSERT INTO asset_totals (location_id, files, bytes)
      SELECT location_id, count(*), sum(size) FROM assets GROUP BY location_id`.execute(db);
  },
};

/**
 * Indexes the requests of a message by time: the CRM may repeat an id any number of times, and a read takes only a few of them.
 * `messages_told` contains few rows.
 */
const requestsOfMessage: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('messages').addColumn('told', 'text').execute();
    await db.schema.dropIndex('messages_message').execute();
    await db.schema
      .createIndex('messages_message')
      .on('messages')
      .columns(['message_id', 'location_id', 'direction', 'created_at'])
      .execute();
    await sql`CREATE INDEX messages_told ON messages (message_id, location_id) WHERE told IS NOT NULL`.execute(
      db,
    );
  },
};

/** The claim of a new location counts those of its license: without an index, it reads the locations of all licenses. */
const locationsOfLicense: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.createIndex('locations_license').on('locations').column('license_id').execute();
  },
};

/**
 * With SQLite, the indexes of messages by phone number and by contact are divided into blocks. Their hashes arrive in random order, so in
 * a single large index nearly every message changes a different page, and each changed page is written to disk. A block takes only a few
 * pages. `messages_numberless` contains only rare rows.
 */
const blocksOfMessages: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .alterTable('messages')
      .addColumn('block', 'bigint', (c) => c.notNull().defaultTo(0))
      .execute();
    if (dialectOf(db) === 'postgres') return;
    for (const column of ['phone_hash', 'contact_hash']) {
      await db.schema.dropIndex(`messages_${column}`).ifExists().execute();
      await db.schema
        .createIndex(`messages_${column}`)
        .on('messages')
        .columns(['block', column, 'created_at'])
        .execute();
    }
    await sql`CREATE INDEX messages_numberless ON messages (contact_hash, created_at) WHERE phone_hash IS NULL`.execute(
      db,
    );
  },
};

/**
 * Claims contain the id of the journal entry, so that a repeated message finds its entry without a search by GUID. With SQLite, the index of
 * inbound GUIDs is then divided into blocks like those by person, because GUIDs also arrive in random order.
 */
const entriesOfClaims: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('inbound_guids').addColumn('entry_id', 'text').execute();
    if (dialectOf(db) === 'postgres') return;
    await db.schema.dropIndex('messages_message').execute();
    await sql`
      CREATE INDEX messages_message ON messages (message_id, location_id, created_at) WHERE direction = 'outbound'`.execute(
      db,
    );
    await sql`CREATE INDEX messages_guid ON messages (block, message_id, created_at) WHERE direction = 'inbound'`.execute(
      db,
    );
  },
};

/** An expected location is removed an hour after the CRM first refused its tokens. */
const refusedInstalls: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('oauth_grants').addColumn('refused_at', 'bigint').execute();
  },
};

/** Hashes of signed requests by which repeats are recognised, and grants whose app may have been uninstalled. */
const seenRequests: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('seen_requests')
      .addColumn('hash', 'text', (c) => c.primaryKey())
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .execute();
    await db.schema.createIndex('seen_requests_expiry').on('seen_requests').column('expires_at').execute();
    await db.schema.alterTable('oauth_grants').addColumn('doubted_at', 'bigint').execute();
  },
};

/** Locations that the operator assigned, as the audit log has it, are confirmed. Codes and their tokens belong to one license and location. */
const confirmedLocations: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .alterTable('locations')
      .addColumn('confirmed', 'integer', (c) => c.notNull().defaultTo(0))
      .execute();
    await sql`
      UPDATE locations SET confirmed = 1
      WHERE license_id IS NOT NULL
        AND (SELECT max(at) FROM audit WHERE target = location_id AND action = 'location.assigned')
          > (SELECT coalesce(max(at), 0) FROM audit WHERE target = location_id AND action = 'location.released')`.execute(
      db,
    );
    await db.schema.alterTable('pairing_codes').addColumn('license_id', 'text').execute();
    await db.schema.alterTable('devices').addColumn('location_id', 'text').execute();
  },
};

const handovers: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('locations').addColumn('handed_over_at', 'bigint').execute();
  },
};

/** The activations of a license in a day are bounded. */
const activationsOfLicense: Migration = {
  async up(db: Kysely<unknown>) {
    for (const name of ['activation_day', 'activations'])
      await db.schema
        .alterTable('licenses')
        .addColumn(name, 'integer', (c) => c.notNull().defaultTo(0))
        .execute();
  },
};

/** Messages that were in work when a process died, and how often. */
const suspects: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('suspects')
      .addColumn('kind', 'text', (c) => c.notNull())
      .addColumn('location_id', 'text', (c) => c.notNull())
      .addColumn('message_id', 'text', (c) => c.notNull())
      .addColumn('deaths', 'integer', (c) => c.notNull())
      .addColumn('at', 'bigint', (c) => c.notNull())
      .addPrimaryKeyConstraint('suspects_key', ['kind', 'location_id', 'message_id'])
      .execute();
  },
};

const deletedLocations: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('deleted_locations')
      .addColumn('location_id', 'text', (c) => c.primaryKey())
      .addColumn('deleted_at', 'bigint', (c) => c.notNull())
      .execute();
  },
};

/** The operator's lists are read page by page. */
const pagesOfLists: Migration = {
  async up(db: Kysely<unknown>) {
    const index = (name: string) => db.schema.createIndex(name);
    await index('devices_activation').on('devices').columns(['activated_at', 'id']).execute();
    await index('licenses_creation').on('licenses').columns(['created_at', 'id']).execute();
    await sql`CREATE INDEX issues_since ON issues (since, id) WHERE closed_at IS NULL`.execute(db);
  },
};

const reopenedIssues: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('issues').addColumn('license_id', 'text').execute();
    await db.schema
      .alterTable('issues')
      .addColumn('reopened', 'integer', (c) => c.notNull().defaultTo(0))
      .execute();
  },
};

/** Files count towards the quota of the license whose Mac sent them. Those of earlier versions count towards that of the owner of their location. */
const filesOfLicense: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('assets').addColumn('license_id', 'text').execute();
    await sql`UPDATE assets SET license_id =
      (SELECT license_id FROM locations WHERE locations.location_id = assets.location_id)`.execute(db);
    await db.schema
      .createTable('license_asset_totals')
      .addColumn('license_id', 'text', (c) => c.primaryKey())
      .addColumn('files', 'bigint', (c) => c.notNull())
      .addColumn('bytes', 'bigint', (c) => c.notNull())
      .execute();
    await sql`INSERT INTO license_asset_totals (license_id, files, bytes)
      SELECT license_id, count(*), sum(size) FROM assets WHERE license_id IS NOT NULL GROUP BY license_id`.execute(
      db,
    );
  },
};

const locationNames: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('location_names')
      .addColumn('location_id', 'text', (c) => c.primaryKey())
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('folded', 'text', (c) => c.notNull())
      .execute();
    await db.schema.createIndex('location_names_folded').on('location_names').column('folded').execute();
  },
};

// The two dialects differ in auto-increment.
const CHANGES = {
  sqlite:
    'CREATE TABLE changes (id INTEGER PRIMARY KEY AUTOINCREMENT, topic TEXT NOT NULL, subject TEXT NOT NULL, at INTEGER NOT NULL)',
  postgres:
    'CREATE TABLE changes (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, topic TEXT NOT NULL, subject TEXT NOT NULL, at BIGINT NOT NULL)',
};

const dialectOf = (db: Kysely<unknown>): 'sqlite' | 'postgres' =>
  db.getExecutor().adapter.constructor.name.includes('Postgres') ? 'postgres' : 'sqlite';

/** Applied once each, in the order of their names, under a lock. A released migration is never edited. */
export const MIGRATIONS: Record<string, Migration> = {
  '0001-first': first,
  '0002-steps-in-their-message': stepsInTheirMessage,
  '0003-pairing-codes': pairingCodes,
  '0004-operator-tokens': operatorTokens,
  '0005-search-by-customer': searchByCustomer,
  '0006-app-events': appEvents,
  '0007-issues': issues,
  '0008-suppressions': suppressions,
  '0009-audit-names': auditNames,
  '0010-sign-in-codes': signInCodes,
  '0011-captures': captures,
  '0012-rare-messages': rareMessages,
  '0013-asset-senders': assetSenders,
  '0014-location-retention': locationRetention,
  '0015-alerts': alerts,
  '0016-reach-fields': reachFields,
  '0017-asset-totals': assetTotals,
  '0018-requests-of-a-message': requestsOfMessage,
  '0019-locations-of-a-license': locationsOfLicense,
  '0020-blocks-of-messages': blocksOfMessages,
  '0021-entries-of-claims': entriesOfClaims,
  '0022-refused-installs': refusedInstalls,
  '0023-seen-requests': seenRequests,
  '0024-confirmed-locations': confirmedLocations,
  '0025-handovers': handovers,
  '0026-activations-of-a-license': activationsOfLicense,
  '0027-suspects': suspects,
  '0028-deleted-locations': deletedLocations,
  '0029-pages-of-lists': pagesOfLists,
  '0030-reopened-issues': reopenedIssues,
  '0031-files-of-a-license': filesOfLicense,
  '0032-location-names': locationNames,
};
