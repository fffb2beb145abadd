import { chmodSync, closeSync, existsSync, fchownSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** SQLite gives its other files the mode of the database when it creates them. */
const COMPANIONS = ['', '-wal', '-shm'];

/** Creates the file and its folder with access for their owner only, and removes other users' access to existing files. */
export function makePrivate(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const created = createNew(file);
  if (created !== undefined)
    try {
      giveToFolderOwner(created, file);
    } finally {
      closeSync(created);
    }
  for (const companion of COMPANIONS) if (existsSync(file + companion)) chmodSync(file + companion, 0o600);
}

/** Returns undefined when the file exists. */
function createNew(file: string): number | undefined {
  try {
    return openSync(file, 'ax', 0o600);
  } catch (error) {
    if (existsSync(file)) return undefined;
    throw error;
  }
}

/**
 * Gives a file that root creates to the owner of its folder: the service may run as another user. Uses the descriptor, because that user
 * could replace the path with a link.
 */
export function giveToFolderOwner(descriptor: number, file: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(file));
  fchownSync(descriptor, uid, gid);
}
