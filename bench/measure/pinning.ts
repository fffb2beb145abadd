import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import process from 'node:process';

export type Role = 'service' | 'environment';

export interface Pinning {
  /** The reason why processes are not pinned to cores, if they are not. */
  readonly note: string | undefined;
  /** Returns the command line that runs `command` on the cores of its role. */
  command(role: Role, command: string, args: readonly string[]): [command: string, args: string[]];
}

/** Reserves core 0 for the service under test and the other cores for its environment, if the system supports it. */
export function findPinning(): Pinning {
  const cores = availableParallelism();
  if (cores < 2) return notPinned('there is only one core');
  if (spawnSync('taskset', ['-c', '0', process.execPath, '--version']).status !== 0)
    return notPinned('taskset is not available');
  const coresOf = { service: '0', environment: cores === 2 ? '1' : `1-${cores - 1}` };
  spawnSync('taskset', ['-a', '-p', '-c', coresOf.environment, String(process.pid)]);
  return {
    note: undefined,
    command: (role, command, args) => ['taskset', ['-c', coresOf[role], command, ...args]],
  };
}

/** Leaves the choice of cores to the operating system. */
export const UNPINNED: Pinning = {
  note: undefined,
  command: (_role, command, args) => [command, [...args]],
};

const notPinned = (reason: string): Pinning => ({
  ...UNPINNED,
  note: `processes are not pinned to cores: ${reason}; expect wider quartiles`,
});
