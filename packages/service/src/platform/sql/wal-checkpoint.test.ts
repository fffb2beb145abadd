import { execFile } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';

import { until } from '@footbridge/testkit/until';
import { sql } from 'kysely';
import type { RawBuilder } from 'kysely';
import { afterAll, expect, it } from 'vitest';

import { openDatabase } from './open-database.ts';
import { WalCheckpoint } from './wal-checkpoint.ts';

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
afterAll(() => rmSync(folder, { recursive: true }));

const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

/** Reads the salt in the WAL header, which changes when SQLite restarts the WAL from its beginning. */
async function walSalt(file: string): Promise<string> {
  const wal = await open(`${file}-wal`);
  try {
    return (await wal.read(Buffer.alloc(4), 0, 4, 16)).buffer.toString('hex');
  } finally {
    await wal.close();
  }
}

it('checkpoints the WAL while writes continue, so that the WAL stays small', async () => {
  const file = join(folder, 'busy.sqlite');
  const database = await openDatabase({ engine: 'sqlite', file }, () => {});
  const { db } = database;
  await sql`create table notes (id integer primary key, text text not null)`.execute(db);
  const row = sql`(${'x'.repeat(1000)})`;
  const rows = sql.join(Array.from({ length: 100 }, () => row));
  let largest = 0;
  let written = 0;
  const write = async (values: RawBuilder<unknown>, count: number) => {
    await db
      .transaction()
      .execute(async (trx) => void (await sql`insert into notes (text) values ${values}`.execute(trx)));
    written += count;
    largest = Math.max(largest, sizeOf(`${file}-wal`));
  };
  let salt = await walSalt(file);
  for (let round = 0; round < 6; round++) {
    for (let batch = 0; batch < 100; batch++) {
      await write(rows, 100);
      await setTimeout(0);
    }
    // Gives the thread time for a checkpoint, however busy the machine is. The next write then restarts the WAL.
    const restarted = async () => {
      await write(row, 1);
      return (await walSalt(file)) !== salt;
    };
    await until(restarted, { every: 50, what: 'a restarted WAL' });
    salt = await walSalt(file);
  }
  // 60 MB were written. Without checkpoints the WAL would hold all of it.
  expect(largest).toBeLessThan(45e6);
  expect(sizeOf(file)).toBeGreaterThan(30e6);
  const { rows: counted } = await sql<{ count: number }>`select count(*) as count from notes`.execute(db);
  expect(counted[0]?.count).toBe(written);
  await database.close();
  expect(sizeOf(`${file}-wal`)).toBe(0);
});

it('keeps the process alive only while it blocks statements, and stops when the database is closed', async () => {
  const script = `
    import { setTimeout } from 'node:timers/promises';
    const { openDatabase } = await import(${JSON.stringify(new URL('open-database.ts', import.meta.url).href)});
    const { sql } = await import(${JSON.stringify(import.meta.resolve('kysely'))});
    const { db, close } = await openDatabase({ engine: 'sqlite', file: process.argv[1] }, () => {});
    await sql\`create table notes (id integer)\`.execute(db);
    const more = () => sql\`with recursive n (i) as (select 1 union all select i + 1 from n where i < 7000)
      insert into notes select i from n\`.execute(db);
    await more();
    await setTimeout(300);
    if (process.argv[2] === 'write')
      for (let times = 0; times < 50; times++) {
        await more();
        await setTimeout(1);
      }
    if (process.argv[2] === 'close') await Promise.all([more(), close()]);
  `;
  for (const how of ['leave', 'write', 'close']) {
    const args = ['--input-type=module', '-e', script, join(folder, `${how}.sqlite`), how];
    await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
  }
});

it('ends when the database is closed while statements wait for it', async () => {
  const file = join(folder, 'closed.sqlite');
  const database = await openDatabase({ engine: 'sqlite', file }, () => {});
  let isFinished = false;
  const checkpoint = new WalCheckpoint({
    file,
    async exclusively(task) {
      const closed = checkpoint.close();
      await task();
      await closed;
      isFinished = true;
    },
    onError: () => {},
  });
  checkpoint.changed(6000);
  await until(() => isFinished);
  await database.close();
});

it('reports a failed checkpoint, and writes continue', async () => {
  const file = join(folder, 'moved.sqlite');
  const events: unknown[] = [];
  const database = await openDatabase({ engine: 'sqlite', file }, (event) => void events.push(event));
  const { db } = database;
  await sql`create table notes (id integer)`.execute(db);
  // The checkpoint thread opens the file by its name.
  renameSync(file, `${file}.elsewhere`);
  const insert = () =>
    sql`with recursive n (i) as (select 1 union all select i + 1 from n where i < 7000)
      insert into notes select i from n`.execute(db);
  await insert();
  await until(() => events.length > 0);
  expect(events[0]).toMatchObject({
    type: 'checkpoint_failed',
    error: { message: 'unable to open database file' },
  });
  await insert();
  await database.close();
});
