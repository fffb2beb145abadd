import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

import { afterAll, describe, expect, it } from 'vitest';

import { DataDirLockedError, UnusableLockError } from '../errors.ts';
import { isLocked, lockDataDir } from './data-dir.ts';

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Holds the shared lock of `isLocked` for 200 ms. */
const CHECK = `
  const { DatabaseSync } = require('node:sqlite');
  const { parentPort, workerData } = require('node:worker_threads');
  const db = new DatabaseSync(workerData);
  db.exec('BEGIN; SELECT name FROM sqlite_schema');
  parentPort.postMessage('checking');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  db.close();
`;

describe('the lock of the data folder', () => {
  it('has one holder at a time and can be taken again after its release', () => {
    expect(isLocked(folder)).toBe(false);
    const unlock = lockDataDir(folder);
    expect(isLocked(folder)).toBe(true);
    expect(() => lockDataDir(folder)).toThrow(DataDirLockedError);
    unlock();
    expect(isLocked(folder)).toBe(false);
  });

  it('is free while a command checks it, and can be taken once the check is over', async () => {
    const checking = new Worker(CHECK, { eval: true, workerData: join(folder, 'agent.lock') });
    await once(checking, 'message');
    expect(isLocked(folder)).toBe(false);
    lockDataDir(folder)();
    await once(checking, 'exit');
  });

  it('is free when its file is damaged, and taking it reports the damage', () => {
    const file = join(folder, 'agent.lock');
    writeFileSync(file, 'damaged'.repeat(1000));
    expect(isLocked(folder)).toBe(false);
    expect(() => lockDataDir(folder)).toThrow(UnusableLockError);
    rmSync(file);
    lockDataDir(folder)();
  });
});
