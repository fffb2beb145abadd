import { access, constants, lstat, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Returns a directory that is filled once per machine and user. `fill` gets an empty directory; its content becomes
 * visible under `name` as a whole or not at all, also when two processes fill it at once.
 */
export async function cached(
  name: string,
  fill: (dir: string) => Promise<void>,
  folder?: string,
): Promise<string> {
  const dir = join(folder ?? (await cacheFolder()), name);
  if (await exists(dir)) return dir;
  const work = await mkdtemp(`${dir}-`);
  try {
    await fill(work);
    await rename(work, dir).catch(async (error: unknown) => {
      if (!(await exists(dir))) throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return dir;
}

/** A system user without a writable home directory gets a folder in the temporary directory. */
async function cacheFolder(): Promise<string> {
  try {
    const home = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'footbridge');
    await mkdir(home, { recursive: true });
    await access(home, constants.W_OK);
    return home;
  } catch {
    return await ownFolder(join(tmpdir(), `footbridge-cache-${process.getuid?.()}`));
  }
}

/** Programs are run from here, so a folder that another user created is rejected. */
async function ownFolder(dir: string): Promise<string> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const { uid } = await lstat(dir);
  if (uid !== process.getuid?.()) throw new Error(`${dir} belongs to another user.`);
  return dir;
}

export function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
