import { readFileSync } from 'node:fs';

import { CliError, EXIT } from './cli-error.ts';

/** Reads a file that the user named; `-` is standard input. */
export function readBytes(file: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file);
  } catch (error) {
    throw new CliError(`cannot read ${file === '-' ? 'standard input' : file}`, {
      exitCode: EXIT.usage,
      next: 'check the path, and that this user may read the file',
      cause: error,
    });
  }
}
