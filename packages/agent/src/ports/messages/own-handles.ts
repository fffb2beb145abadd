import { Columns } from './columns.ts';
import { textOf } from './chats.ts';
import type { Statements } from './statements.ts';

/** How many of the newest messages are searched for own addresses, besides all chats. */
const NEWEST_MESSAGES = 500;

/** The columns with addresses of this Mac. An account begins with its kind: `E:` for email, `P:` for phone. */
const SOURCES = [
  { table: 'chat', column: 'account_login', limit: '' },
  { table: 'chat', column: 'last_addressed_handle', limit: '' },
  { table: 'message', column: 'account', limit: `ORDER BY ROWID DESC LIMIT ${NEWEST_MESSAGES}` },
] as const;

/** Returns the addresses that this Mac sends from. */
export function readOwnHandles(sql: Statements): string[] {
  const columns = new Columns(sql);
  columns.refresh();
  const handles = SOURCES.filter(({ table, column }) => columns.has(table, column)).flatMap(
    ({ table, column, limit }) =>
      sql
        .of(`SELECT DISTINCT handle FROM (SELECT ${column} AS handle FROM ${table} ${limit})`)
        .all()
        .flatMap((row) => textOf(row['handle'])?.replace(/^[EePp]:/, '') ?? []),
  );
  return [...new Set(handles.filter((handle) => handle !== ''))];
}
