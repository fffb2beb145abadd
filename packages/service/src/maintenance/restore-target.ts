import type { RowsRecord } from './backup-records.ts';

/**
 * A database that a restore fills beside the current one. Until `replace` the current one is neither changed nor usable by a
 * service: the target holds a lock on it.
 */
export interface RestoreTarget {
  load(rows: Pick<RowsRecord, 'table' | 'text'>): Promise<void>;
  /** Completes the loaded database: indexes, then the migrations that the backup does not have. */
  finish(): Promise<void>;
  /** Replaces the current database in one step. Resolves with where the former one is kept, if it is. */
  replace(): Promise<string | undefined>;
  /** Removes what was not put in place, and releases the lock. */
  close(): Promise<void>;
}

export interface TargetShape {
  /** The last migration of the backup. */
  readonly migration: string;
  readonly tables: readonly { readonly name: string; readonly columns: readonly string[] }[];
}
