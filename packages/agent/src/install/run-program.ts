import { execFile } from 'node:child_process';

const TIMEOUT_MS = 30_000;

export interface ProgramResult {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of macOS. Never rejects: a program that is missing, fails or hangs has not succeeded. */
export function runProgram(path: string, args: readonly string[]): Promise<ProgramResult> {
  return new Promise((resolve) => {
    execFile(path, args, { timeout: TIMEOUT_MS, killSignal: 'SIGKILL' }, (error, stdout, stderr) => {
      resolve({ ok: error === null, stdout, stderr: stderr || (error?.message ?? '') });
    });
  });
}
