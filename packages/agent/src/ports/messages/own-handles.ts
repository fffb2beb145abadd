import { Columns } from './columns.ts';
import { textOf } from './chats.ts';
import type { Statements } from './statements.ts';

/** Own addresses are read from the chats and from this many of the newest messages. */
const NEWEST_MESSAGES = 500;

/** Where the store names the addresses of this Mac. An account has its kind in front: `E:` for email, `P:` for phone. */
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
