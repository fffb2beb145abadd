import { execFile } from 'node:child_process';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { cached } from './cache.ts';

const run = promisify(execFile);

export interface Program {
  readonly path: string;
  readonly env: Record<string, string>;
}

export interface DebianProgram {
  /** The libraries of the first one are included, since a bare machine lacks them. */
  readonly packages: readonly [string, ...string[]];
  /** For example `usr/bin/redis-server`. */
  readonly path: string;
}

/** Downloads and unpacks Debian packages into the cache: nothing is installed, and no root is needed. */
export async function unpackProgram(wanted: DebianProgram, folder?: string): Promise<Program> {
  const name = `${basename(wanted.path)}-${process.arch}`;
  const root = await cached(name, (dir) => downloadAndUnpack(dir, wanted), folder);
  return {
    path: join(root, wanted.path),
    // Fonts come from the packages too: text on a machine without fonts has no width.
    env: { LD_LIBRARY_PATH: (await libraryFolders(root)).join(':'), FONTCONFIG_SYSROOT: root },
  };
}

/** Some libraries, such as those of PulseAudio, are in subfolders and are only found at their installed path. */
async function libraryFolders(root: string): Promise<string[]> {
  const folders = ['usr/lib', 'lib'].map(async (top) => {
    const files = await readdir(join(root, top), { recursive: true, withFileTypes: true }).catch(() => []);
    return files.filter(({ name }) => /\.so(\.|$)/.test(name)).map(({ parentPath }) => parentPath);
  });
  return [...new Set((await Promise.all(folders)).flat())];
}

async function downloadAndUnpack(dir: string, { packages, path }: DebianProgram): Promise<void> {
  const work = join(dir, 'work');
  // The package lists of the system may be missing or outdated; then new ones are fetched.
  const archives = await download(packages, work, []).catch(async () =>
    download(packages, work, await ownLists(`${work}-lists`)),
  );
  for (const archive of archives) await apt('dpkg', ['-x', archive, dir]);
  await Promise.all([work, `${work}-lists`].map((left) => rm(left, { recursive: true, force: true })));
  // It may be a dangling link.
  const programs = await readdir(join(dir, dirname(path))).catch((): string[] => []);
  if (!programs.includes(basename(path))) throw new Error(`${packages.join(', ')} have no ${path}`);
}

/** Downloads the packages and every library that the first one needs, as if this machine had none of them. */
async function download(
  packages: DebianProgram['packages'],
  work: string,
  lists: readonly string[],
): Promise<string[]> {
  await rm(work, { recursive: true, force: true });
  const archives = join(work, 'archives');
  await mkdir(join(archives, 'partial'), { recursive: true });
  const nothingInstalled = join(work, 'status');
  await writeFile(nothingInstalled, '');
  const options = [
    ...lists,
    ...set({
      'Debug::NoLocking': '1',
      'Dir::Cache': work,
      'Dir::State::status': nothingInstalled,
      'Dir::State::extended_states': join(work, 'extended_states'),
      'Acquire::http::Timeout': '30',
      'Acquire::Retries': '2',
    }),
  ];
  const { stdout } = await apt('apt-cache', [...options, 'depends', packages[0]]);
  const libraries = [...stdout.matchAll(/^\s+Depends: (z?lib(?!js-)[a-z0-9.+-]+)$/gm)].map(
    ([, name]) => name ?? '',
  );
  const install = ['install', '--yes', '--download-only', '--no-install-recommends'];
  await apt('apt-get', [...options, ...install, ...libraries]);
  await apt('apt-get', [...options, 'download', ...packages], archives);
  const files = await readdir(archives);
  // The C library of the machine is the one its dynamic loader belongs to.
  return files
    .filter((file) => file.endsWith('.deb') && !file.startsWith('libc6_'))
    .map((file) => join(archives, file));
}

async function ownLists(dir: string): Promise<string[]> {
  await mkdir(join(dir, 'partial'), { recursive: true });
  const options = set({ 'Dir::State::lists': dir });
  const update = set({ 'Debug::NoLocking': '1', 'Dir::Cache': dir, 'Acquire::http::Timeout': '30' });
  // A repository that does not respond need not be the one with these packages.
  await apt('apt-get', [...options, ...update, 'update']).catch(() => undefined);
  return options;
}

const set = (settings: Record<string, string>): string[] =>
  Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);

const WITHIN = 300_000;

/** Runs one of Debian's programs; its error is the last line that the program wrote. */
async function apt(program: string, args: string[], cwd?: string): Promise<{ stdout: string }> {
  try {
    return await run(program, args, { ...(cwd === undefined ? {} : { cwd }), timeout: WITHIN });
  } catch (error) {
    const { code, killed, stderr = '' } = error as { code?: unknown; killed?: boolean; stderr?: string };
    const [last = killed === true ? `not within ${WITHIN} ms` : String(code)] = stderr
      .split('\n')
      .filter((line) => line.startsWith('E: '))
      .slice(-1);
    throw new Error(code === 'ENOENT' ? `no ${program} on this machine` : `${program}: ${last}`, {
      cause: error,
    });
  }
}
