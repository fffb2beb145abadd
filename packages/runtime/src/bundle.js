// Plain JavaScript, because the Node that reads this file first may be too old for TypeScript.
import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';

/**
 * A source file as it was when the bundle was written: its path relative to the bundle, its size, and the time of its last change.
 * @typedef {[path: string, size: number, mtimeMs: number]} BundledFile
 */

/**
 * Returns the path of the bundle of a program: `dist/main.js` for `src/main.ts`.
 * @param {string} entry
 */
export const bundlePath = (entry) => resolve(entry).replace(/([\\/])src([\\/][^\\/]+)\.ts$/, '$1dist$2.js');

/**
 * Returns the path of the list of a bundle's files.
 * @param {string} bundle
 */
export const fileListPath = (bundle) => `${bundle}.files.json`;

/**
 * Returns the bundle of a program if none of its files has changed since it was written. Otherwise returns the program itself, which behaves
 * the same but takes three times as long to start.
 * @param {string} entry
 */
export function bundleOf(entry) {
  const { NODE_V8_COVERAGE, NODE_OPTIONS = '' } = process.env;
  // Coverage and profiles must refer to the source files.
  if (NODE_V8_COVERAGE !== undefined || NODE_OPTIONS.includes('--cpu-prof')) return entry;
  const bundle = bundlePath(entry);
  try {
    /** @type {BundledFile[]} */
    const files = JSON.parse(readFileSync(fileListPath(bundle), 'utf8'));
    const folder = dirname(bundle);
    return files.every((file) => isUnchanged(folder, file)) ? bundle : entry;
  } catch {
    // No bundle, or a deleted file.
    return entry;
  }
}

/**
 * @param {string} folder
 * @param {BundledFile} file
 */
function isUnchanged(folder, [path, size, mtimeMs]) {
  const file = statSync(join(folder, path));
  return file.size === size && file.mtimeMs === mtimeMs;
}
