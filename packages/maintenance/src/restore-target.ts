import type { RowsRecord } from './backup-records.ts';

/**
 * A database that a restore fills next to the current one. Until `replace`, the current one is unchanged, and a lock keeps services
 * from using it.
 */
export interface RestoreTarget {
  load(rows: Pick<RowsRecord, 'table' | 'text'>): Promise<void>;
  /** Completes the loaded database: creates the indexes, then applies the migrations that are newer than the backup. */
  finish(): Promise<void>;
  /** Replaces the current database in one step. Resolves with the path of the previous one, if it is kept. */
  replace(): Promise<string | undefined>;
  /** Removes what `replace` did not use, and releases the lock. Ignores a lost connection, which would hide the original error. */
  close(): Promise<void>;
}

export interface TargetShape {
  /** The last migration of the backup. */
  readonly migration: string;
  readonly tables: readonly { readonly name: string; readonly columns: readonly string[] }[];
}
