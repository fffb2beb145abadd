import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

const TIMEOUT_MS = 30_000;

export interface ProgramResult {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a program of macOS. Never rejects: a missing, failing or hanging program has not succeeded. Control-C does not reach the program,
 * which could be in the middle of a change.
 */
export async function runProgram(path: string, args: readonly string[]): Promise<ProgramResult> {
  const child = spawn(path, args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  const { promise: ended, resolve } = Promise.withResolvers<string | undefined>();
  child.once('error', (error) => resolve(error.message));
  child.once('close', (code) => resolve(code === 0 ? undefined : `${path} failed`));
  const [failure, stdout, stderr] = await Promise.all([
    ended,
    contentOf(child.stdout),
    contentOf(child.stderr),
  ]);
  return { ok: failure === undefined, stdout, stderr: stderr || (failure ?? '') };
}

const contentOf = (stream: Readable): Promise<string> => text(stream).catch(() => '');
