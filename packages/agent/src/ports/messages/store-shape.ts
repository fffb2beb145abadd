import type { RowShape } from './messages-shape.ts';
import type { Statements } from './statements.ts';

/** Columns with codes of Messages. Other numbers can be ids or dates. */
const CODES: ReadonlySet<string> = new Set([
  'associated_message_type',
  'error',
  'group_action_type',
  'item_type',
  'message_action_type',
  'message_source',
  'part_count',
  'schedule_type',
  'share_status',
]);

const ID = /^ROWID$|_id$|handle/;

export function tablesOf(sql: Statements): Record<string, string[]> {
  const rows = sql
    .of(
      `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema t, pragma_table_info(t.name) c
       WHERE t.type = 'table' ORDER BY t.name, c.cid`,
    )
    .all();
  const tables: Record<string, string[]> = {};
  for (const { table, column } of rows) (tables[String(table)] ??= []).push(String(column));
  return tables;
}

/** Describes the row of a message. SQLite itself describes the values, so that no content leaves it. */
export function rowShapeOf(sql: Statements, guid: string): RowShape | undefined {
  const columns = tablesOf(sql)['message'] ?? [];
  const shapes = columns.map((column) => {
    const value = `m."${column.replaceAll('"', '""')}"`;
    const isPlain = CODES.has(column) ? 'TRUE' : `${value} ${ID.test(column) ? '= 0' : 'BETWEEN -1 AND 1'}`;
    return `CASE typeof(${value}) WHEN 'integer' THEN iif(${isPlain}, ${value}, 'number')
      WHEN 'real' THEN 'number' WHEN 'text' THEN 'text' WHEN 'blob' THEN 'bytes' END`;
  });
  const row = sql.of(`SELECT json_array(${shapes.join(', ')}) AS shape FROM message m WHERE m.guid = ?`);
  const found = row.get(guid)?.['shape'];
  if (typeof found !== 'string') return undefined;
  const values = JSON.parse(found) as RowShape[string][];
  return Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null]));
}
