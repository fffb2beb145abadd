import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Program } from './redis.ts';

const run = promisify(execFile);

/**
 * Debian's Redis without installing it: the packages are downloaded and unpacked into a cache, no root needed.
 * The server's program lies in redis-tools; its libraries come along, since a bare machine lacks them.
 */
export async function unpackRedis(cache = defaultCache()): Promise<Program> {
  const known = await programIn(cache);
  if (known) return known;
  await mkdir(dirname(cache), { recursive: true });
  const work = await mkdtemp(`${cache}-`);
  try {
    await downloadAndUnpack(work);
    // Two suites may do this at once; the first one to be ready is kept.
    await rename(join(work, 'root'), cache).catch(() => undefined);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  const made = await programIn(cache);
  if (!made) throw new Error("Debian's packages were unpacked, but there is no redis-server in them.");
  return made;
}

function defaultCache(): string {
  const base = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  return join(base, 'footbridge', `redis-${process.arch}`);
}

async function programIn(root: string): Promise<Program | undefined> {
  const programs = await readdir(join(root, 'usr', 'bin')).catch((): string[] => []);
  // redis-server is a link to redis-check-rdb, one program under several names.
  if (!programs.includes('redis-server')) return undefined;
  const libraries = await Promise.all(
    ['usr/lib', 'lib'].map(async (dir) => {
      const triplets = await readdir(join(root, dir)).catch((): string[] => []);
      return triplets.map((triplet) => join(root, dir, triplet));
    }),
  );
  return {
    path: join(root, 'usr', 'bin', 'redis-server'),
    env: { LD_LIBRARY_PATH: libraries.flat().join(':') },
  };
}

async function downloadAndUnpack(work: string): Promise<void> {
  const archives = join(work, 'archives');
  const root = join(work, 'root');
  await mkdir(archives);
  await mkdir(root);
  // The system's package lists may be missing or old; ours then go beside the download.
  const apt = await fetched(archives, []).catch(async () => fetched(archives, await ownLists(work)));
  for (const archive of apt) await run('dpkg', ['-x', join(archives, archive), root]);
}

async function fetched(archives: string, options: readonly string[]): Promise<string[]> {
  const { stdout } = await run('apt-cache', [...options, 'depends', 'redis-tools']);
  const needed = [...stdout.matchAll(/^\s+Depends: ([a-z0-9.+-]+)$/gm)].map(([, name]) => name ?? '');
  const libraries = needed.filter((name) => name !== 'libc6' && name.startsWith('l'));
  await run('apt-get', [...options, 'download', 'redis-server', 'redis-tools', ...libraries], {
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
