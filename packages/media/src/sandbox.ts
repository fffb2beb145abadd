import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAX_HEAP_MB = 96;
const INSIDE = new URL('./sandbox-inside.ts', import.meta.url);

/** Node restricts the network from version 25 on; older versions have no such permission. */
export const RESTRICTS_NETWORK = process.allowedNodeEnvironmentFlags.has('--allow-net');

/**
 * Returns the Node flags of a process that reads this package and its dependencies, and has no other file, no child process,
 * no worker thread, no native addon and, from Node 25 on, no network.
 */
export function sandboxFlags(): string[] {
  return [
    '--permission',
    ...programFolders().map((path) => `--allow-fs-read=${path}`),
    // It opens files without asking the permission model.
    ...['--no-experimental-sqlite'].filter((flag) => process.allowedNodeEnvironmentFlags.has(flag)),
    `--import=${INSIDE.href}`,
    '--disallow-code-generation-from-strings',
    `--max-old-space-size=${MAX_HEAP_MB}`,
    // Frees the WebAssembly memory of one conversion before the next.
    '--expose-gc',
  ];
}

/** This package and the `node_modules` folders in which Node looks for its dependencies. A folder ends in a separator. */
function programFolders(): string[] {
  const lookup = createRequire(import.meta.url).resolve.paths('gifenc') ?? [];
  const modules = lookup.filter((path) => basename(path) === 'node_modules' && existsSync(path));
  return [fileURLToPath(new URL('..', import.meta.url)), ...modules.map((path) => path + sep)];
}

export interface ProcessUser {
  readonly uid: number;
  readonly gid: number;
}

/** 65520 to 65533 are assigned by no system, so that the process can signal no other one. */
const FIRST_UID = 65_520;
const UIDS = 14;

/** Returns the user of the process of a slot. No two slots have the same one. */
export function userOf(slot: number): ProcessUser {
  const id = FIRST_UID + (slot % UIDS);
  return { uid: id, gid: id };
}

const READ_ALL = 'for (const path of process.argv.slice(1)) require("node:fs").readdirSync(path)';

/**
 * Resolves with whether a process can run and be stopped as another user: root may lack the capabilities, and the folder of
 * the program may be closed to others.
 */
export async function canRunAsOther(): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  try {
    const options = { ...userOf(0), cwd: '/', env: {}, stdio: 'ignore' } as const;
    const child = spawn(process.execPath, ['-e', READ_ALL, ...programFolders()], options);
    child.on('error', () => undefined);
    const canStop = child.kill(0);
    const [code] = await once(child, 'exit');
    return canStop && code === 0;
  } catch {
    return false;
  }
}
