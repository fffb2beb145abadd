import { spawn } from 'node:child_process';
import { join } from 'node:path';

const MAIN = join(import.meta.dirname, '../../packages/cli/src/main.ts');

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The lines of stdout. */
  readonly lines: Record<string, unknown>[];
}

/** Runs `footbridge` in a separate process, in this folder and with only this environment. */
export function runCli(
  args: readonly string[],
  cwd: string,
  env: Record<string, string | undefined> = {},
  input = '',
): Promise<Ended> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, ...args], {
      cwd,
      env: { PATH, NODE_COMPILE_CACHE, ...env },
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => (stdout += part));
    child.stderr.setEncoding('utf8').on('data', (part: string) => (stderr += part));
    child.on('error', reject).on('close', (code) => {
      const lines = code === 2 ? [] : stdout.split('\n').filter((line) => line.startsWith('{'));
      resolve({
        code,
        stdout,
        stderr,
        lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>),
      });
    });
    child.stdin.end(input);
  });
}
