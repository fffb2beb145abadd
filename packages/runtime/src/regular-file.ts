import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** Reads a text file. Throws for anything else than a regular file: reading from a pipe would wait for a writer and block the process. */
export function readRegularFile(path: string): string {
  // Without O_NONBLOCK, opening a pipe waits too.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) throw new Error(`${path} is not a regular file`);
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}
