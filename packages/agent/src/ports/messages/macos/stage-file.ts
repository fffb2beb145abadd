import { randomUUID } from 'node:crypto';
import { constants, copyFile, lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';

import type { LocalFile } from '../messages.ts';

/** How long a staged file is kept: Messages refers to the file instead of copying it, and may upload it later. */
const KEPT_MS = 24 * 3_600_000;
/** The limit of APFS is 255 bytes. */
const MAX_NAME_BYTES = 240;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Copies a file to a folder that the sandbox of Messages lets it read. Each file gets a folder of its own. The bytes are copied without
 * extended attributes, so that the copy is not in quarantine. Removes the files of earlier days if the time is known.
 */
export async function stageFile(
  folder: string,
  file: LocalFile,
  now: number | undefined,
): Promise<LocalFile> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // A link would lead the file and the cleanup elsewhere.
  if (!(await lstat(folder)).isDirectory()) throw new Error('The staging folder is not a folder');
  if (now !== undefined) await sweepStaged(folder, now);
  const name = stagedName(file.name);
  const path = join(folder, randomUUID(), name);
  await mkdir(dirname(path), { mode: 0o700 });
  const staged = { ...file, name, path };
  try {
    await copyFile(file.path, path, constants.COPYFILE_EXCL);
  } catch (error) {
    await removeStaged(staged);
    throw error;
  }
  return staged;
}

/** Returns the name under which a file is staged, which every file system accepts. */
export function stagedName(name: string): string {
  const plain = basename(name.toWellFormed().replaceAll('\0', ''));
  if (plain === '' || plain === '.' || plain === '..') return 'attachment';
  if (Buffer.byteLength(plain) <= MAX_NAME_BYTES) return plain;
  const extension = extname(plain).slice(0, 10);
  let stem = plain.slice(0, MAX_NAME_BYTES);
  while (Buffer.byteLength(stem + extension) > MAX_NAME_BYTES) stem = stem.slice(0, -1);
  return stem.toWellFormed() + extension;
}

export async function removeStaged({ path }: LocalFile): Promise<void> {
  await rm(dirname(path), { recursive: true, force: true });
}

async function sweepStaged(folder: string, now: number): Promise<void> {
  for (const entry of await readdir(folder)) {
    if (!UUID.test(entry)) continue;
    const path = join(folder, entry);
    const found = await lstat(path).catch(() => undefined);
    if (found !== undefined && now - found.mtimeMs > KEPT_MS)
      await rm(path, { recursive: true, force: true });
  }
}
