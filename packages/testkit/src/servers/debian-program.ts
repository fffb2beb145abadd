import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Program {
  readonly path: string;
  readonly env: Record<string, string>;
}

export interface DebianProgram {
  /** The first one's libraries come along, since a bare machine lacks them. */
  readonly packages: readonly [string, ...string[]];
  /** For example `usr/bin/redis-server`. */
  readonly path: string;
}

/** A program of Debian's without installing it: its packages are downloaded and unpacked into a cache, no root needed. */
export async function unpackProgram(
  wanted: DebianProgram,
  cache = defaultCache(basename(wanted.path)),
): Promise<Program> {
  const known = await programIn(cache, wanted.path);
  if (known) return known;
  await mkdir(dirname(cache), { recursive: true });
  const work = await mkdtemp(`${cache}-`);
  try {
    await downloadAndUnpack(work, wanted.packages);
    // Two suites may do this at once; the first one to be ready is kept.
    await rename(join(work, 'root'), cache).catch(() => undefined);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  const made = await programIn(cache, wanted.path);
  if (!made) throw new Error(`Debian's packages were unpacked, but there is no ${wanted.path} in them.`);
  return made;
}

function defaultCache(name: string): string {
  const base = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  return join(base, 'footbridge', `${name}-${process.arch}`);
}

async function programIn(root: string, path: string): Promise<Program | undefined> {
  // It may be a link, which need not lead anywhere yet.
  const programs = await readdir(join(root, dirname(path))).catch((): string[] => []);
  if (!programs.includes(basename(path))) return undefined;
  const libraries = await Promise.all(
    ['usr/lib', 'lib'].map(async (dir) => {
      const triplets = await readdir(join(root, dir)).catch((): string[] => []);
      return triplets.map((triplet) => join(root, dir, triplet));
    }),
  );
  return {
    path: join(root, path),
    env: { LD_LIBRARY_PATH: libraries.flat().join(':') },
  };
}

async function downloadAndUnpack(work: string, packages: DebianProgram['packages']): Promise<void> {
  const archives = join(work, 'archives');
  const root = join(work, 'root');
  await mkdir(archives);
  await mkdir(root);
  // The system's package lists may be missing or old; ours then go beside the download.
  const apt = await fetched(packages, archives, []).catch(async () =>
    fetched(packages, archives, await ownLists(work)),
  );
  for (const archive of apt) await run('dpkg', ['-x', join(archives, archive), root]);
}

async function fetched(
  packages: DebianProgram['packages'],
  archives: string,
  options: readonly string[],
): Promise<string[]> {
  const { stdout } = await run('apt-cache', [...options, 'depends', packages[0]]);
  const needed = [...stdout.matchAll(/^\s+Depends: ([a-z0-9.+-]+)$/gm)].map(([, name]) => name ?? '');
  const libraries = needed.filter((name) => name !== 'libc6' && name.startsWith('l'));
  await run('apt-get', [...options, 'download', ...packages, ...libraries], {
    cwd: archives,
  });
  return (await readdir(archives)).filter((file) => file.endsWith('.deb'));
}

async function ownLists(work: string): Promise<string[]> {
  const lists = join(work, 'lists');
  const cache = join(work, 'cache');
  await mkdir(join(lists, 'partial'), { recursive: true });
  await mkdir(join(cache, 'archives', 'partial'), { recursive: true });
  const options = [
    '-o',
    `Dir::State::lists=${lists}`,
    '-o',
    `Dir::Cache=${cache}`,
    '-o',
    'Debug::NoLocking=1',
  ];
  await run('apt-get', [...options, 'update']);
  return options;
}
