import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { nodePackage } from '@footbridge/runtime/choose-node.js';

/** Returns the folder of the installed npm package, or undefined in a checkout, which has no compiled program. */
export function packageRoot(): string | undefined {
  const root = join(import.meta.dirname, '../../..');
  return existsSync(join(root, 'agent.mjs')) ? root : undefined;
}

/**
 * Returns the Node that npm installed with the package, a single file that works anywhere. Without it, returns the running Node, which is
 * not copied: it may belong to a version manager or link to libraries of Homebrew.
 */
export function nodeFor(root: string): { readonly path: string; readonly copy: boolean } {
  const name = nodePackage(process.platform, process.arch) ?? '';
  try {
    const manifest = createRequire(join(root, 'package.json')).resolve(`${name}/package.json`);
    const path = join(manifest, '../bin/node');
    if (existsSync(path)) return { path, copy: true };
  } catch {
    // The packaged Node is an optional dependency.
  }
  return { path: process.execPath, copy: false };
}
