import { constants } from 'node:fs';
import { chmod, copyFile, cp, mkdir, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';

import type { Layout } from './layout.ts';
import { nodeFor } from './package-root.ts';

/** Copies the package into a version folder, and makes this version the current one. The app and the data do not change. */
export async function installVersion(
  { versions, current }: Pick<Layout, 'versions' | 'current'>,
  root: string,
  version: string,
): Promise<void> {
  await mkdir(versions, { recursive: true, mode: 0o700 });
  const before = await currentVersion(current);
  const folder = join(versions, version);
  const partial = `${folder}.partial`;
  await rm(partial, { recursive: true, force: true });
  await cp(root, partial, { recursive: true });
  await chmod(partial, 0o700);
  await placeNode(root, join(partial, 'node'));
  await rm(folder, { recursive: true, force: true });
  await rename(partial, folder);
  await pointTo(current, folder);
  await removeOthers(versions, [version, before]);
}

export async function currentVersion(current: string): Promise<string | undefined> {
  const target = await readlink(current).catch(() => undefined);
  return target === undefined ? undefined : basename(target);
}

async function placeNode(root: string, place: string): Promise<void> {
  const { path, copy } = nodeFor(root);
  if (!copy) return await symlink(path, place);
  await copyFile(path, place, constants.COPYFILE_FICLONE);
  await chmod(place, 0o755);
}

/** Replaces the link atomically, because the launcher may start at any moment. */
async function pointTo(link: string, folder: string): Promise<void> {
  const fresh = `${link}.new`;
  await rm(fresh, { force: true });
  await symlink(folder, fresh);
  await rename(fresh, link);
}

/** Removes all versions but the kept ones. */
async function removeOthers(versions: string, kept: readonly (string | undefined)[]): Promise<void> {
  for (const name of await readdir(versions))
    if (!kept.includes(name)) await rm(join(versions, name), { recursive: true, force: true });
}
