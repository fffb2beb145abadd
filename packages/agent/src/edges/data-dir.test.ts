import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { DataDirLockedError } from '../errors.ts';
import { isLocked, lockDataDir } from './data-dir.ts';

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('the lock of the data folder', () => {
  it('has one holder at a time and can be taken again after its release', () => {
    expect(isLocked(folder)).toBe(false);
    const unlock = lockDataDir(folder);
    expect(isLocked(folder)).toBe(true);
    expect(() => lockDataDir(folder)).toThrow(DataDirLockedError);
    unlock();
    expect(isLocked(folder)).toBe(false);
  });
});
