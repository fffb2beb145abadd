import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { tempDir, createCleanup } from '../cleanup.ts';
import { cached } from './cache.ts';

const cleanup = createCleanup();
afterEach(async () => {
  await cleanup.run();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const fillWith = (text: string) => (dir: string) => writeFile(join(dir, 'file'), text);

describe('the cache of programs', () => {
  it('is filled once', async () => {
    const folder = await tempDir(cleanup);
    const first = await cached('thing', fillWith('first'), folder);
    expect(await cached('thing', fillWith('second'), folder)).toBe(first);
    expect(await readFile(join(first, 'file'), 'utf8')).toBe('first');
  });

  it('keeps one of two directories that are filled at the same time', async () => {
    const folder = await tempDir(cleanup);
    const [a, b] = await Promise.all([
      cached('thing', fillWith('whole'), folder),
      cached('thing', fillWith('whole'), folder),
    ]);
    expect(a).toBe(b);
    expect(await readFile(join(a, 'file'), 'utf8')).toBe('whole');
    expect(await readdir(folder)).toEqual(['thing']);
  });

  it('keeps nothing after a failed fill', async () => {
    const folder = await tempDir(cleanup);
    const fill = async (dir: string) => {
      await fillWith('half')(dir);
      throw new Error('disk full');
    };
    await expect(cached('thing', fill, folder)).rejects.toThrow('disk full');
    expect(await readdir(folder)).toEqual([]);
  });

  it('is in XDG_CACHE_HOME', async () => {
    const home = await tempDir(cleanup);
    vi.stubEnv('XDG_CACHE_HOME', join(home, 'cache'));
    expect(await cached('thing', fillWith(''))).toBe(join(home, 'cache/footbridge/thing'));
  });

  describe('of a user without a home', () => {
    async function temporaryDirectory(): Promise<string> {
      const dir = await tempDir(cleanup);
      await writeFile(join(dir, 'not-a-folder'), '');
      vi.stubEnv('XDG_CACHE_HOME', join(dir, 'not-a-folder'));
      vi.stubEnv('TMPDIR', dir);
      return dir;
    }

    it('is in the temporary directory', async () => {
      const dir = await temporaryDirectory();
      expect(dirname(dirname(await cached('thing', fillWith(''))))).toBe(dir);
    });

    it('is rejected when another user created the folder', async () => {
      await temporaryDirectory();
      const folder = await cached('thing', fillWith(''));
      const victim = 1 + (process.getuid?.() ?? 0);
      await rename(dirname(folder), join(dirname(dirname(folder)), `footbridge-cache-${victim}`));
      vi.spyOn(process, 'getuid').mockReturnValue(victim);
      await expect(cached('thing', fillWith(''))).rejects.toThrow('belongs to another user');
    });
  });
});
