import { createHook } from 'node:async_hooks';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

import { afterAll, expect, it } from 'vitest';

import { openDatabase } from './open-database.ts';

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
