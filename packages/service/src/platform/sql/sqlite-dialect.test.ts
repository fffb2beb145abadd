import { createHook } from 'node:async_hooks';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, expect, it } from 'vitest';

import { openDatabase } from './open-database.ts';
import type { DatabaseEvent } from './open-database.ts';

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('counts the rows that statements change, and not those that they read, until the next checkpoint', async () => {
  let threads = 0;
  const count = () => void threads++;
  process.on('worker', count);
  const database = await openDatabase(
    { engine: 'sqlite', file: join(folder, 'footbridge.sqlite') },
    () => {},
  );
  const { db } = database;
  const locations = Array.from({ length: 500 }, (_, index) => ({
    location_id: `location-${index}`,
    license_id: null,
    state: 'unassigned' as const,
    device_row: null,
    created_at: 0,
    updated_at: 0,
  }));
  await db.insertInto('locations').values(locations).execute();
  for (let reads = 0; reads < 20; reads++) await db.selectFrom('locations').selectAll().execute();
  await new Promise((resolve) => setImmediate(resolve));
  expect(threads).toBe(0);
  for (let writes = 0; writes < 20; writes++)
    await db.updateTable('locations').set({ updated_at: writes }).execute();
  await new Promise((resolve) => setImmediate(resolve));
  expect(threads).toBe(1);
  await database.close();
  process.off('worker', count);
});

it('passes its connection to one waiting query after the other without waking the rest', async () => {
  const database = await openDatabase({ engine: 'sqlite', file: join(folder, 'queue.sqlite') }, () => {});
  const query = () => database.db.selectFrom('locations').select('location_id').execute();
  await query();
  let promises = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'PROMISE') promises++;
    },
  }).enable();
  const queries = 1000;
  await Promise.all(Array.from({ length: queries }, query)).finally(() => hook.disable());
  expect(promises / queries).toBeLessThan(100);
  await database.close();
});

it('T68 waits for the write lock of another process without blocking, in order, and reads go on', async () => {
  const file = join(folder, 'locked.sqlite');
  const events: DatabaseEvent[] = [];
  const database = await openDatabase({ engine: 'sqlite', file }, (event) => void events.push(event));
  const { db, commit } = database;
  const other = new DatabaseSync(file);
  other.exec('begin immediate');
  const insert = (id: number) =>
    db.insertInto('changes').values({ id, topic: 'keys', subject: '', at: id }).compile();
  const written: number[] = [];
  const writes = [
    db.executeQuery(insert(1)).then(() => written.push(1)),
    commit([insert(2)]).then(() => written.push(2)),
    db
      .transaction()
      .execute((trx) => trx.executeQuery(insert(3)))
      .then(() => written.push(3)),
    ...Array.from({ length: 1000 }, (_, index) => commit([insert(index + 4)])),
  ];
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  for (const until = performance.now() + 1300; performance.now() < until; await sleep(20))
    expect(await db.selectFrom('changes').selectAll().execute()).toEqual([]);
  delay.disable();
  expect(delay.percentile(99) / 1e6).toBeLessThan(50);
  expect(written).toEqual([]);
  other.exec('commit');
  other.close();
  await Promise.all(writes);
  expect(written).toEqual([1, 2, 3]);
  expect(events).toEqual([
    { type: 'locked', waitedMs: expect.any(Number) },
    { type: 'unlocked', waitedMs: expect.any(Number) },
  ]);
  await database.close();
});
