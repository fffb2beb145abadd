import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

import { errorCode } from '@footbridge/runtime/error-code';

import { CliError, EXIT } from './cli-error.ts';

/** Sets variables in a `.env` file atomically, and makes the file readable only by its owner. All other lines stay as they are. */
export function updateEnvFile(file: string, values: Readonly<Record<string, string>>): void {
  const written = `${file}.${process.pid}.new`;
  try {
    writeFileSync(written, withValues(readIfThere(file), values), { mode: 0o600 });
    chmodSync(written, 0o600);
    renameSync(written, file);
  } catch (error) {
    rmSync(written, { force: true });
    throw new CliError(`cannot write ${file}`, { exitCode: EXIT.configuration, cause: error });
  }
}

/** Replaces the lines of these variables, and appends those that have none. */
function withValues(text: string, values: Readonly<Record<string, string>>): string {
  const left = new Map(Object.entries(values));
  const lines = text.split('\n').flatMap((line) => {
    const [, name = ''] = /^\s*(?:export\s+)?(\w+)\s*=/.exec(line) ?? [];
    if (!Object.hasOwn(values, name)) return [line];
    const value = left.get(name);
    left.delete(name);
    return value === undefined ? [] : [`${name}=${value}`];
  });
  while (lines.at(-1) === '') lines.pop();
  return `${[...lines, ...[...left].map(([name, value]) => `${name}=${value}`)].join('\n')}\n`;
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return '';
    throw error;
  }
}
