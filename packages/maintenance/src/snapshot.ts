import type { TableShape } from '@footbridge/service/platform/sql/tables-at';

/** A consistent state of a database. A service can keep writing: it is not blocked, and its changes are not visible here. */
export interface Snapshot {
  /** The applied migrations, in order. */
  readonly migrations: readonly string[];
  /** The rows of a table in pieces of about a megabyte. */
  rows(table: TableShape): AsyncIterable<RowsPiece>;
  close(): Promise<void>;
}

export interface RowsPiece {
  /** Whole lines in the text format of COPY. */
  readonly text: Buffer;
  readonly rows: number;
}
