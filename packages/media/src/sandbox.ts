import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAX_HEAP_MB = 96;

/** Node restricts the network from version 25 on; older versions have no such permission. */
export const RESTRICTS_NETWORK = process.allowedNodeEnvironmentFlags.has('--allow-net');

/**
 * Returns the Node flags of a process that reads this package, its dependencies and `input`, writes `output`, and has
 * no other file, no child process, no worker thread, no native addon and, from Node 25 on, no network.
 */
export function sandboxFlags(input: string, output: string): string[] {
  return [
    '--permission',
    ...[...programFolders(), input].map((path) => `--allow-fs-read=${path}`),
    `--allow-fs-write=${output}`,
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
