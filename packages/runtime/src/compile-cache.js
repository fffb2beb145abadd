// Plain JavaScript, because the Node that reads this file first may be too old for TypeScript.
import { existsSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

/** The node_modules folder of the checkout. An installed package has none here. */
export const MODULES = new URL('../../../node_modules/', import.meta.url);

export const isCheckout = existsSync(MODULES);

/**
 * Returns the environment variables that give a program a cache of compiled code, which halves its start time. Node ignores the cache
 * when it is not writable. An installed package has none: it has no TypeScript to compile.
 * @returns {Record<string, string>}
 */
export function compileCache() {
  const { NODE_COMPILE_CACHE, NODE_V8_COVERAGE } = process.env;
  // A cache would distort coverage.
  if (NODE_V8_COVERAGE !== undefined) return {};
  if (NODE_COMPILE_CACHE !== undefined) return { NODE_COMPILE_CACHE };
  if (!isCheckout) return {};
  return { NODE_COMPILE_CACHE: fileURLToPath(new URL('.cache/footbridge/compiled', MODULES)) };
}
