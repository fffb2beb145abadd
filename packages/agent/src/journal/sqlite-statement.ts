import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';

/** A statement with positional parameters. */
export interface Statement {
  readonly run: (...values: SQLInputValue[]) => ReturnType<StatementSync['run']>;
  readonly get: (...values: SQLInputValue[]) => ReturnType<StatementSync['get']>;
  readonly all: (...values: SQLInputValue[]) => ReturnType<StatementSync['all']>;
}

/**
 * Returns a function that creates statements. Each is prepared at its first use: in a journal that is not migrated, the tables and columns
 * of most statements are missing.
 */
export function lazyStatements(db: DatabaseSync): (sql: string) => Statement {
  return (sql) => {
    let statement: StatementSync | undefined;
    const prepared = () => (statement ??= db.prepare(sql));
    return {
      run: (...values) => prepared().run(...values),
      get: (...values) => prepared().get(...values),
      all: (...values) => prepared().all(...values),
    };
  };
}
