import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempDir, undoList } from './undo.ts';

it('runs the cleanups once, newest first, and waits for each', async () => {
  const undo = undoList();
  const done: string[] = [];
  undo.add(() => done.push('first'));
  undo.add(async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    done.push('second');
  });
  await undo.run();
  await undo.run();
  expect(done).toEqual(['second', 'first']);
});

it('continues after an error and reports it', async () => {
  const undo = undoList();
  const done: string[] = [];
  undo.add(() => done.push('still run'));
  undo.add(() => Promise.reject(new Error('stuck')));
  await expect(undo.run()).rejects.toThrow('stuck');
  expect(done).toEqual(['still run']);
});

it('reports several errors together', async () => {
  const undo = undoList();
  undo.add(() => Promise.reject(new Error('one')));
  undo.add(() => Promise.reject(new Error('two')));
  await expect(undo.run()).rejects.toThrow('2 cleanups failed');
});

it('removes temporary directories with their contents', async () => {
  const undo = undoList();
  const dir = await tempDir(undo);
  await writeFile(join(dir, 'left-over'), 'x');
  await undo.run();
  expect(existsSync(dir)).toBe(false);
});
