import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { AlreadyRunning, isLocked, lockDataDir } from './data-dir.ts';
import { createFailpoints, noFailpoints } from '../failpoint.ts';
import { Lifecycle } from '../lifecycle.ts';

const folder = mkdtempSync(join(tmpdir(), 'footbridge-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('the lock of the data folder', () => {
  it('is held by one at a time and free again afterwards', () => {
    expect(isLocked(folder)).toBe(false);
    const unlock = lockDataDir(folder);
    expect(isLocked(folder)).toBe(true);
    expect(() => lockDataDir(folder)).toThrow(AlreadyRunning);
    unlock();
    expect(isLocked(folder)).toBe(false);
  });
});

describe('failpoints', () => {
  it('are nothing at all when none is set', () => {
    expect(createFailpoints(undefined)).toBe(noFailpoints);
    expect(createFailpoints('')).toBe(noFailpoints);
  });

  it('refuse what they do not understand', () => {
    expect(() => createFailpoints('a:explode')).toThrow('name:kill');
  });

  it('pass where no failpoint of that name is set', () => {
    expect(() => createFailpoints('a:kill@3')('b')).not.toThrow();
  });
});

describe('the lifecycle', () => {
  it('closes newest first, all of it, once', async () => {
    const closed: string[] = [];
    const life = new Lifecycle();
    life.add(() => void closed.push('first'));
    life.add(() => {
      throw new Error('stuck');
    });
    life.add(async () => void closed.push('last'));
    await expect(life.close()).rejects.toThrow('did not close cleanly');
    await expect(life.close()).rejects.toThrow('did not close cleanly');
    expect(closed).toEqual(['last', 'first']);
  });
});
