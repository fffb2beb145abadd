import type { Statements } from './statements.ts';

type Table = 'message' | 'attachment' | 'chat' | 'handle';

/** A value of a SELECT list: a column, or an SQL expression over one column. */
export interface Selected {
  readonly column: string;
  /** Receives the column with its table, for example `m.date`. */
  readonly as?: (column: string) => string;
}

/**
 * Writes SELECT lists with the columns that the store has, and NULL for the others. The columns differ between versions of macOS, and even
 * between Macs with the same version.
 */
export class Columns {
  readonly #sql: Statements;
  #version = -1;
  readonly #present = new Map<Table, ReadonlySet<string>>();
  readonly #lists = new Map<object, string>();

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Drops the cached columns if an update of macOS changed the schema. Call before each read. */
  refresh(): void {
    const version = Number(this.#sql.of('PRAGMA schema_version').get()?.['schema_version']);
    if (version === this.#version) return;
    this.#version = version;
    this.#present.clear();
    this.#lists.clear();
  }

  /** Returns `m.text AS text, …` for the table with this alias. */
  list(table: Table, alias: string, selected: Readonly<Record<string, Selected>>): string {
    const present = this.#columnsOf(table);
    const known = this.#lists.get(selected);
    if (known !== undefined) return known;
    const values = Object.entries(selected).map(([name, { column, as = (same: string) => same }]) =>
      present.has(column.toLowerCase()) ? `${as(`${alias}.${column}`)} AS ${name}` : `NULL AS ${name}`,
    );
    this.#lists.set(selected, values.join(', '));
    return values.join(', ');
  }

  has(table: Table, column: string): boolean {
    return this.#columnsOf(table).has(column.toLowerCase());
  }

  #columnsOf(table: Table): ReadonlySet<string> {
    const known = this.#present.get(table);
    if (known !== undefined) return known;
    const rows = this.#sql.of('SELECT lower(name) AS name FROM pragma_table_info(?)').all(table);
    const present = new Set(rows.map((row) => String(row['name'])));
    this.#present.set(table, present);
    return present;
  }
}
