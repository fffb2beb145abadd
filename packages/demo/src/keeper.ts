import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { fileURLToPath } from 'node:url';

/** Whatever this process starts from now on ends with it, and `folder` goes, even when nobody is left to clear away (kill -9). */
export function startKeeper(folder: string): void {
  const keeper = spawn(process.execPath, [fileURLToPath(import.meta.resolve('./keeper-main.ts')), folder], {
    // In a group of its own: a signal to all of the demo's processes must not reach it.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  keeper.unref();
  // Without a keeper the demo still clears away after itself, unless it is killed.
  keeper.on('error', () => undefined);
  keeper.stdin.on('error', () => undefined);
  subscribe('child_process', (message) => {
    const child = (message as { process: ChildProcess }).process;
    child.once('spawn', () => keeper.stdin.write(`+${child.pid}\n`));
    child.once('exit', () => keeper.stdin.write(`-${child.pid}\n`));
  });
}
