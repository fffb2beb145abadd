import { readFileSync } from 'node:fs';

import { usageError } from './cli-error.ts';

/** Reads a file that the user named; `-` is standard input. */
export function readBytes(file: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file);
  } catch (error) {
    throw usageError(`cannot read ${file === '-' ? 'standard input' : file}`, error);
  }
}
