import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

import { sql } from 'kysely';
import { afterAll, expect, it } from 'vitest';

import { openDatabase } from './open-database.ts';

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
afterAll(() => rmSync(folder, { recursive: true }));

const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

it('the log is written back while messages go on, and begins anew', async () => {
  const file = join(folder, 'busy.sqlite');
  const database = await openDatabase({ engine: 'sqlite', file }, () => {});
  const { db } = database;
  await sql`create table notes (id integer primary key, text text not null)`.execute(db);
  const row = sql`(${'x'.repeat(1000)})`;
  const rows = sql.join(Array.from({ length: 100 }, () => row));
  let largest = 0;
  for (let batch = 0; batch < 600; batch++) {
    await db
      .transaction()
      .execute(async (trx) => void (await sql`insert into notes (text) values ${rows}`.execute(trx)));
    largest = Math.max(largest, sizeOf(`${file}-wal`));
    await setTimeout(batch % 20 === 0 ? 5 : 0);
  }
  // 60 MB were written; without anybody who writes back, the log would hold all of it.
  expect(largest).toBeLessThan(45e6);
  expect(sizeOf(file)).toBeGreaterThan(30e6);
  const { rows: counted } = await sql<{ count: number }>`select count(*) as count from notes`.execute(db);
  expect(counted[0]?.count).toBe(60_000);
  await database.close();
  expect(sizeOf(`${file}-wal`)).toBe(0);
});

it('a database in memory has no log', async () => {
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  const { db } = database;
  await sql`create table notes (id integer)`.execute(db);
  await sql`with recursive n (i) as (select 1 union all select i + 1 from n where i < 20000)
    insert into notes select i from n`.execute(db);
  await database.close();
});
