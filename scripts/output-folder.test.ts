import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { ForeignFilesError, prepareOutputFolder } from './output-folder.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

describe('an output folder', () => {
  it('is created, and emptied when an earlier run wrote it', async () => {
    const folder = join(await tempDir(cleanup), 'new/kit');
    await prepareOutputFolder(folder);
    await mkdir(join(folder, 'old'));
    await writeFile(join(folder, 'old/file.js'), '');
    await prepareOutputFolder(folder);
    expect(await readdir(folder)).toEqual(['.footbridge-output']);
  });

  it('may be an empty folder', async () => {
    const folder = await tempDir(cleanup);
    await prepareOutputFolder(folder);
    expect(await readdir(folder)).toEqual(['.footbridge-output']);
  });

  it('is rejected and left unchanged when it has other files', async () => {
    const folder = await tempDir(cleanup);
    await writeFile(join(folder, 'precious.txt'), 'mine');
    await expect(prepareOutputFolder(folder)).rejects.toThrow(ForeignFilesError);
    expect(await readdir(folder)).toEqual(['precious.txt']);
    expect(await readFile(join(folder, 'precious.txt'), 'utf8')).toBe('mine');
  });
});
