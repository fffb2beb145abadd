import { Readable } from 'node:stream';

import type { Io } from '@footbridge/cli/io';
import { run } from '@footbridge/cli/run';

import type { Ended } from './run-cli.ts';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Surroundings {
  readonly env?: Record<string, string>;
  readonly input?: string;
  /** Whether stdout and stderr are a terminal. */
  readonly isTTY?: boolean;
}

export interface RecordedIo extends Io {
  readonly written: { stdout: string; stderr: string };
}

export function recordedIo({ env = {}, input = '', isTTY = false }: Surroundings = {}): RecordedIo {
  const written = { stdout: '', stderr: '' };
  return {
    env,
    stdin: Readable.from([Buffer.from(input)]),
    stdout: { isTTY, write: (text) => (written.stdout += text) },
    stderr: { isTTY, write: (text) => (written.stderr += text) },
    cleanups: new Set(),
    written,
  };
}

/** Runs `footbridge` in this process, with only this environment. */
export async function runInProcess(args: readonly string[], surroundings: Surroundings = {}): Promise<Ran> {
  const io = recordedIo(surroundings);
  const code = await run(args, io);
  return { code, ...io.written };
}

/** The same, with the objects that it printed unless its usage was wrong. */
export async function runForLines(args: readonly string[], surroundings: Surroundings): Promise<Ended> {
  const ran = await runInProcess(args, surroundings);
  return { ...ran, lines: ran.code === 2 ? [] : jsonLines(ran.stdout) };
}

/** The objects that a command printed as JSON, one per line. */
export function jsonLines(output: string): Record<string, unknown>[] {
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
