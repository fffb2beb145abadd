/** One migration per schema version. `user_version` holds the number of applied migrations. */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE job (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    message_id TEXT,
    fingerprint TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'begun', 'delivered', 'failed', 'unknown')),
    frame TEXT,
    guid TEXT,
    error_code TEXT,
    error_message TEXT,
    changed_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX job_waiting ON job (place) WHERE state IN ('queued', 'begun');
  CREATE TABLE request (
    request_id TEXT PRIMARY KEY,
    key TEXT NOT NULL,
    answered INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX request_of_job ON request (key);
  CREATE TABLE step (
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    done INTEGER NOT NULL DEFAULT 0,
    guid TEXT,
    watermark INTEGER NOT NULL,
    PRIMARY KEY (key, name)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'rejected', 'set-aside')),
    frame TEXT NOT NULL,
    reason TEXT,
    changed_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX outbox_waiting ON outbox (seq) WHERE state = 'waiting';
  CREATE TABLE held (
    rowid_in_store INTEGER PRIMARY KEY,
    guid TEXT NOT NULL,
    held_since INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE seen (
    guid TEXT PRIMARY KEY,
    seen_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE note (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  // Row ids restart in a rebuilt message store, so a pending row is identified by its guid.
  `
  CREATE TABLE pending_row (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    guid TEXT NOT NULL UNIQUE,
    since INTEGER NOT NULL
  ) STRICT;
  INSERT INTO pending_row (guid, since) SELECT guid, held_since FROM held ORDER BY rowid_in_store;
  DROP TABLE held;
  `,
  'CREATE INDEX seen_by_time ON seen (seen_at);',
  // The new columns distinguish a row that the owner typed from a row that a step caused.
  `
  ALTER TABLE step ADD COLUMN content TEXT;
  ALTER TABLE step ADD COLUMN begun_at INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX step_by_content ON step (content) WHERE content IS NOT NULL;
  CREATE INDEX step_by_guid ON step (guid) WHERE guid IS NOT NULL;
  ALTER TABLE seen ADD COLUMN own INTEGER NOT NULL DEFAULT 0;
  `,
  // The file name identifies the row of an interrupted send. The index finds the jobs that run first.
  `
  ALTER TABLE step ADD COLUMN file_name TEXT;
  CREATE INDEX step_unfinished ON step (key) WHERE done = 0;
  `,
  // What the agent worked on when it died. The GUID names the message of a frame without parsing the frame.
  `
  CREATE TABLE death (
    name TEXT PRIMARY KEY,
    deaths INTEGER NOT NULL,
    at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  ALTER TABLE outbox ADD COLUMN guid TEXT;
  `,
];

/** `openJournalAsIs` can open journals from this schema version on. */
export const OLDEST_USABLE_VERSION = 2;
