import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

/** SQLite gives its other files the mode of the database when it creates them. */
const COMPANIONS = ['', '-wal', '-shm'];

/** Creates the file and its folder for this user only, and takes the rights of others away from files that exist. */
export function makePrivate(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  closeSync(openSync(file, 'a', 0o600));
  for (const companion of COMPANIONS) if (existsSync(file + companion)) chmodSync(file + companion, 0o600);
}
