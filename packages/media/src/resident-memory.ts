import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** How often memory is sampled: a read of /proc is cheap, elsewhere a sample starts `ps`. */
export const SAMPLE_INTERVAL_MS = process.platform === 'linux' ? 20 : 100;

/** Returns the resident memory of a process, or undefined when it has exited or the platform does not tell. */
export async function residentBytes(pid: number): Promise<number | undefined> {
  try {
    const kibibytes = process.platform === 'linux' ? fromProc(pid) : await fromPs(pid);
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
  } catch {
    return undefined;
  }
}

/** A process that is exiting has no `VmRSS` any more. */
function fromProc(pid: number): string | undefined {
  return /^VmRSS:\s*(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
}

/** Fails when there is no such process. */
async function fromPs(pid: number): Promise<string> {
  return (await run('ps', ['-o', 'rss=', '-p', String(pid)])).stdout;
}
