import { execFile, execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';

import { openDiskAssets } from './assets-disk.ts';
import { assetsContract } from './assets.contract.ts';

const temporaryDirectory = () => mkdtemp(join(tmpdir(), 'footbridge-'));
const filesIn = async (directory: string) =>
  (await readdir(directory, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
    .length;

assetsContract('disk', async () => {
  const directory = await temporaryDirectory();
  return {
    assets: await openDiskAssets({ directory }),
    leftovers: () => filesIn(directory),
    close: () => rm(directory, { recursive: true }),
  };
});

describe('the disk asset store', () => {
  const cleanups: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });
  const directory = async () => {
    const made = await temporaryDirectory();
    cleanups.push(() => rm(made, { recursive: true, force: true }));
    return made;
  };

  it('I8 removes the unfinished uploads of an ended process at the start', async () => {
    const home = await directory();
    await mkdir(join(home, 'incoming'));
    const ended = endedProcess();
    for (const pid of [ended, process.pid, process.ppid])
      await writeFile(join(home, 'incoming', `${pid}-x.part`), 'x');
    await openDiskAssets({ directory: home });
    expect(await readdir(join(home, 'incoming'))).toEqual([`${process.ppid}-x.part`]);
  });

  it('I8 rejects an upload that would use up the reserved disk space', async () => {
    const home = await directory();
    const assets = await openDiskAssets({ directory: home, keepFree: Number.MAX_SAFE_INTEGER });
    const outcome = await assets.store(bytes(100), 1000);
    expect(outcome).toEqual({ stored: false, reason: 'storage_full' });
    expect(await filesIn(home)).toBe(0);
  });

  it.skipIf(!canMount())('I8 reports a full disk as an outcome, and leaves no partial file', async () => {
    const home = await directory();
    const { stdout } = await promisify(execFile)('unshare', [
      '-rm',
      'sh',
      '-c',
      `mount -t tmpfs -o size=1m tmpfs "$1" && "$2" --input-type=module -e "$3" "$1"`,
      'sh',
      home,
      process.execPath,
      `import { readdirSync } from 'node:fs';
       const { openDiskAssets } = await import(${JSON.stringify(new URL('assets-disk.ts', import.meta.url).href)});
       const directory = process.argv[1];
       const assets = await openDiskAssets({ directory });
       const outcome = await assets.store((async function* () { for (let n = 0; n < 40; n++) yield Buffer.alloc(65536); })(), 1e8);
       const small = await assets.store((async function* () { yield Buffer.alloc(1000); })(), 1e8);
       console.log(JSON.stringify({ outcome, small: small.stored, incoming: readdirSync(directory + '/incoming') }));`,
    ]);
    expect(JSON.parse(stdout)).toEqual({
      outcome: { stored: false, reason: 'storage_full' },
      small: true,
      incoming: [],
    });
  });

  it.skipIf(process.getuid?.() === 0)('I8 reports a folder that is not writable at the start', async () => {
    const home = await directory();
    await chmod(home, 0o500);
    await expect(openDiskAssets({ directory: home })).rejects.toThrow('check that it is a writable folder');
  });

  it('I8 reports a path that is not a folder at the start', async () => {
    const home = join(await directory(), 'file');
    await writeFile(home, '');
    await expect(openDiskAssets({ directory: home })).rejects.toThrow('check that it is a writable folder');
  });
});

async function* bytes(size: number) {
  yield Buffer.alloc(size);
}

const endedProcess = () => Number(execFileSync('sh', ['-c', 'echo $$']).toString());

function canMount(): boolean {
  try {
    execFileSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
