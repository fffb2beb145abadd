import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import process from 'node:process';

export type Role = 'service' | 'world';

export interface Pinning {
  /** Why processes float between cores, when they do. */
  readonly note: string | undefined;
  /** The command that starts `command` on the cores of its role. */
  command(role: Role, command: string, args: readonly string[]): [command: string, args: string[]];
}

/** The service under test has core 0 for itself, the world around it the others, where the system can do that. */
export function findPinning(): Pinning {
  const cores = availableParallelism();
  if (cores < 2) return floating('one core only');
  if (spawnSync('taskset', ['-c', '0', process.execPath, '--version']).status !== 0)
    return floating('no taskset on this system');
  const coresOf = { service: '0', world: cores === 2 ? '1' : `1-${cores - 1}` };
  spawnSync('taskset', ['-a', '-p', '-c', coresOf.world, String(process.pid)]);
  return {
    note: undefined,
    command: (role, command, args) => ['taskset', ['-c', coresOf[role], command, ...args]],
  };
}

function floating(why: string): Pinning {
  return {
    note: `processes are not pinned to cores: ${why}; expect wider quartiles`,
    command: (_role, command, args) => [command, [...args]],
  };
}
