import { chmodSync, chownSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it } from 'vitest';

import { openDatabase } from './open-database.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const mode = (path: string) => statSync(path).mode & 0o777;

it('T56 the folder and the files of the database are for one user only', async () => {
  const file = join(folder, 'data', 'footbridge.sqlite');
  const database = await openDatabase({ engine: 'sqlite', file }, () => {});
  expect(mode(join(folder, 'data'))).toBe(0o700);
  expect(readdirSync(join(folder, 'data')).length).toBeGreaterThan(1);
  for (const name of readdirSync(join(folder, 'data'))) expect(mode(join(folder, 'data', name))).toBe(0o600);
  await database.close();
});

it('T56 removes the access of other users to existing files', async () => {
  const file = join(folder, 'footbridge.sqlite');
  writeFileSync(file, '');
  chmodSync(file, 0o644);
  const database = await openDatabase({ engine: 'sqlite', file }, () => {});
  expect(mode(file)).toBe(0o600);
  await database.close();
});

it('a database that root creates belongs to the owner of its folder', async () => {
  // Only root can change the owner. Any other user already owns both the folder and the files.
  if (process.getuid?.() === 0) chownSync(folder, 1000, 1000);
  const database = await openDatabase(
    { engine: 'sqlite', file: join(folder, 'footbridge.sqlite') },
    () => {},
  );
  const owners = readdirSync(folder).map((name) => statSync(join(folder, name)).uid);
  expect(owners.length).toBeGreaterThan(1);
  expect(new Set(owners)).toEqual(new Set([statSync(folder).uid]));
  await database.close();
});
