import { randomUUID } from 'node:crypto';
import { copyFile, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';

import type { LocalFile } from '../messages.ts';

/** Messages refers to a staged file instead of copying it, and may upload it later. */
const KEPT_MS = 24 * 3_600_000;

/**
 * Copies a file to a folder that Messages may read: its sandbox keeps it out of all others. Each file has a folder of its own. The
 * bytes are copied without extended attributes, so that the copy is not in quarantine.
 */
export async function stageFile(folder: string, file: LocalFile): Promise<LocalFile> {
  const own = join(folder, randomUUID());
  await mkdir(own, { recursive: true, mode: 0o700 });
  const path = join(own, basename(file.name));
  await copyFile(file.path, path);
  return { ...file, path };
}

/** Removes the files that were staged more than a day ago. */
export async function sweepStaged(folder: string, now: number): Promise<void> {
  const entries = await readdir(folder).catch((): string[] => []);
  for (const entry of entries) {
    const path = join(folder, entry);
    const { mtimeMs } = await stat(path);
    if (now - mtimeMs > KEPT_MS) await rm(path, { recursive: true, force: true });
  }
}
