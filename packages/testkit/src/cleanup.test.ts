import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempDir, createCleanup } from './cleanup.ts';

it('runs the cleanups once, newest first, and waits for each', async () => {
  const cleanup = createCleanup();
  const done: string[] = [];
  cleanup.add(() => done.push('first'));
  cleanup.add(async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    done.push('second');
  });
  await cleanup.run();
  await cleanup.run();
  expect(done).toEqual(['second', 'first']);
});

it('continues after an error and reports it', async () => {
  const cleanup = createCleanup();
  const done: string[] = [];
  cleanup.add(() => done.push('still run'));
  cleanup.add(() => Promise.reject(new Error('stuck')));
  await expect(cleanup.run()).rejects.toThrow('stuck');
  expect(done).toEqual(['still run']);
});

it('reports several errors together', async () => {
  const cleanup = createCleanup();
  cleanup.add(() => Promise.reject(new Error('one')));
  cleanup.add(() => Promise.reject(new Error('two')));
  await expect(cleanup.run()).rejects.toThrow('2 cleanups failed');
});

it('removes temporary directories with their contents', async () => {
  const cleanup = createCleanup();
  const dir = await tempDir(cleanup);
  await writeFile(join(dir, 'left-over'), 'x');
  await cleanup.run();
  expect(existsSync(dir)).toBe(false);
});
