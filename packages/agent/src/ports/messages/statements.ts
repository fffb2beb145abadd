import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** A cache of prepared statements. SQLite re-prepares them by itself after a schema change. */
export class Statements {
  readonly #db: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** Whether this connection has written rows that may still be rolled back. */
  get isWriting(): boolean {
    return this.#db.isTransaction;
  }

  of(sql: string): StatementSync {
    const known = this.#prepared.get(sql);
    if (known !== undefined) return known;
    const prepared = this.#db.prepare(sql);
    this.#prepared.set(sql, prepared);
    return prepared;
  }

  hasTable(name: string): boolean {
    const sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?";
    return this.of(sql).get(name) !== undefined;
  }
}
