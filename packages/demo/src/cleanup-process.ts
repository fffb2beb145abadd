import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { fileURLToPath } from 'node:url';

/**
 * Starts a process that outlives this one: it kills the child processes started from now on and removes `folder`, even
 * after kill -9.
 */
export function startCleanupProcess(folder: string): void {
  const main = fileURLToPath(import.meta.resolve('./cleanup-process-main.ts'));
  const cleanup = spawn(process.execPath, [main, folder], {
    // In a separate process group, so that a signal to the demo's group does not reach it.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  cleanup.unref();
  // Without this process the demo still cleans up, unless it is killed.
  cleanup.on('error', () => undefined);
  cleanup.stdin.on('error', () => undefined);
  subscribe('child_process', (message) => {
    const child = (message as { process: ChildProcess }).process;
    child.once('spawn', () => cleanup.stdin.write(`+${child.pid}\n`));
    child.once('exit', () => cleanup.stdin.write(`-${child.pid}\n`));
  });
}
