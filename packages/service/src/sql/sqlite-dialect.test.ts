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
