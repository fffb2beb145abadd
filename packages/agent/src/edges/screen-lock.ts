import { execFile } from 'node:child_process';

const TIMEOUT_MS = 10_000;

/** Whether the screen of this Mac is locked. `ioreg` is the path of the program. Resolves with false when the lock state cannot be read. */
export function isScreenLocked(ioreg: string): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(ioreg, ['-n', 'Root', '-d1'], { timeout: TIMEOUT_MS }, (_error, stdout) =>
      resolve(/"IOConsoleLocked" = Yes/.test(stdout)),
    );
  });
}
