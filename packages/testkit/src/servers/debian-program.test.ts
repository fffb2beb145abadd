import { access, chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, describe, expect, it, vi } from 'vitest';

import { tempDir, createCleanup } from '../cleanup.ts';
import { unpackProgram } from './debian-program.ts';

const cleanup = createCleanup();
afterEach(async () => {
  await cleanup.run();
  vi.unstubAllEnvs();
});

const LAMP = { packages: ['lamp', 'lamp-common'], path: 'usr/bin/lamp' } as const;

/** An archive contains the path of its only file. Outdated lists name an archive that no longer exists. */
const FAKES: Record<string, string> = {
  'apt-cache': `
    case "$*" in *"depends lamp") printf 'lamp\\n  Depends: libc6\\n  Depends: liblight1\\n  Depends: adduser\\n';; esac`,
  'apt-get': `
    echo "$*" >> "$LOG"
    for word; do
      case "$word" in
        Dir::Cache=*) cache="\${word#*=}";;
        Dir::State::lists=*) lists="\${word#*=}";;
      esac
    done
    case "$*" in
      *" update") touch "$lists/fresh"; echo 'E: one repository does not answer' >&2; exit 100;;
      *" install "*)
        [ -z "$OLD" ] || [ -n "$lists" ] || { echo usr/lib/old > "$cache/archives/old.deb"; echo 'E: 404' >&2; exit 100; }
        echo usr/lib/there/deep/liblight.so.1 > "$cache/archives/liblight1_1.deb"
        echo lib/libc.so.6 > "$cache/archives/libc6_2.deb";;
      *" download lamp lamp-common")
        [ -z "$GONE" ] || { echo 'E: Unable to locate package lamp' >&2; exit 100; }
        echo "$PROGRAM" > lamp_1.deb; echo usr/share/lamp > lamp-common_1.deb;;
    esac`,
  dpkg: `file="$3/$(cat "$2")"; mkdir -p "$(dirname "$file")"; echo unpacked > "$file"`,
};

async function debian(env: Record<string, string> = {}) {
  const dir = await tempDir(cleanup);
  await mkdir(join(dir, 'bin'));
  for (const [name, script] of Object.entries(FAKES)) {
    const file = join(dir, 'bin', name);
    await writeFile(file, `#!/bin/sh\n${script}\n`);
    await chmod(file, 0o755);
  }
  const all = { PROGRAM: LAMP.path, OLD: '', GONE: '', LOG: join(dir, 'log'), ...env };
  for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value);
  vi.stubEnv('PATH', `${join(dir, 'bin')}:/usr/bin:/bin`);
  const cache = join(dir, 'cache');
  await mkdir(cache);
  return { cache, calls: async () => (await readFile(all.LOG, 'utf8')).trim().split('\n') };
}

describe('a program from Debian packages', () => {
  it('is unpacked with its libraries, but with the C library of the machine', async () => {
    const { cache, calls } = await debian();
    const { path, env } = await unpackProgram(LAMP, cache);
    expect(await readFile(path, 'utf8')).toBe('unpacked\n');
    const root = join(cache, `lamp-${process.arch}`);
    expect(env).toEqual({
      LD_LIBRARY_PATH: join(root, 'usr/lib/there/deep'),
      FONTCONFIG_SYSROOT: root,
    });
    expect(await readdir(root)).toEqual(['usr']);
    expect(await readdir(cache)).toEqual([`lamp-${process.arch}`]);
    const [install, download] = await calls();
    expect(install).toMatch(/ --download-only --no-install-recommends libc6 liblight1$/);
    expect(download).toMatch(/ download lamp lamp-common$/);
  });

  it('is downloaded once', async () => {
    const { cache, calls } = await debian();
    expect(await unpackProgram(LAMP, cache)).toEqual(await unpackProgram(LAMP, cache));
    expect(await calls()).toHaveLength(2);
  });

  it('is found with fresh package lists when those of the machine are outdated', async () => {
    const { cache } = await debian({ OLD: 'yes' });
    const { path } = await unpackProgram(LAMP, cache);
    await access(path);
    expect(await readdir(join(cache, `lamp-${process.arch}/usr/lib`))).toEqual(['there']);
  });

  it('fails with the last error of apt', async () => {
    const { cache } = await debian({ GONE: 'yes' });
    await expect(unpackProgram(LAMP, cache)).rejects.toThrow(/^apt-get: E: Unable to locate package lamp$/);
    expect(await readdir(cache)).toEqual([]);
  });

  it('fails when its packages do not contain it', async () => {
    const { cache } = await debian({ PROGRAM: 'usr/bin/other' });
    await expect(unpackProgram(LAMP, cache)).rejects.toThrow(/^lamp, lamp-common have no usr\/bin\/lamp$/);
    expect(await readdir(cache)).toEqual([]);
  });

  it('fails on a machine without apt', async () => {
    const cache = await tempDir(cleanup);
    vi.stubEnv('PATH', cache);
    await expect(unpackProgram(LAMP, cache)).rejects.toThrow(/^no apt-cache on this machine$/);
  });
});
