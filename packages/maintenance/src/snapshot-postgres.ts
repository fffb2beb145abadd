import type { Client } from 'pg';
import { to as copyTo } from 'pg-copy-streams';

import { connect } from './connect-postgres.ts';
import { LINE_FEED, linesIn } from './copy-text.ts';
import type { RowsPiece, Snapshot } from './snapshot.ts';

const PIECE_BYTES = 1_000_000;

/** Opens a transaction that sees the state at its first statement. */
export async function openPostgresSnapshot(url: string): Promise<Snapshot> {
  const client = await connect(url);
  try {
    await client.query('begin isolation level repeatable read read only');
    return {
      migrations: await migrationsOf(client),
      rows: ({ name, columns }) =>
        wholeLines(
          client.query(
            copyTo(`copy (select ${columns.map(quoted).join(', ')} from ${quoted(name)}) to stdout`),
          ),
        ),
      close: () => client.end(),
    };
  } catch (error) {
    await client.end();
    throw error;
  }
}

async function migrationsOf(client: Client): Promise<string[]> {
  const { rows: found } = await client.query<{ table: string | null }>(
    "select to_regclass('kysely_migration')::text as table",
  );
  if (found[0]?.table === null) return [];
  const { rows } = await client.query<{ name: string }>('select name from kysely_migration order by name');
  return rows.map(({ name }) => name);
}

/** Splits a stream into pieces that end at a line feed. Line feeds inside values are escaped. */
async function* wholeLines(stream: AsyncIterable<Buffer>): AsyncIterable<RowsPiece> {
  let waiting: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    waiting.push(chunk);
    size += chunk.length;
    if (size < PIECE_BYTES) continue;
    const all = Buffer.concat(waiting);
    const end = all.lastIndexOf(LINE_FEED) + 1;
    if (end > 0) yield { text: all.subarray(0, end), rows: linesIn(all.subarray(0, end)) };
    waiting = [all.subarray(end)];
    size = all.length - end;
  }
  const rest = Buffer.concat(waiting);
  if (rest.length > 0) yield { text: rest, rows: linesIn(rest) };
}

const quoted = (name: string) => `"${name}"`;
