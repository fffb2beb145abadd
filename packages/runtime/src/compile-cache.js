// Plain JavaScript: the first Node to read this file may be too old for more.
import { existsSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

/** The node_modules folder of the checkout. An installed package has none at this place. */
export const MODULES = new URL('../../../node_modules/', import.meta.url);

export const isCheckout = existsSync(MODULES);

/**
 * Returns the environment that gives a program a cache of compiled code, which halves its start. Node ignores it where it is not
 * writable. An installed package has none: it has no TypeScript to compile.
 * @returns {Record<string, string>}
 */
export function compileCache() {
  const { NODE_COMPILE_CACHE, NODE_V8_COVERAGE } = process.env;
  // A cache would distort the coverage.
  if (NODE_V8_COVERAGE !== undefined) return {};
  if (NODE_COMPILE_CACHE !== undefined) return { NODE_COMPILE_CACHE };
  if (!isCheckout) return {};
  return { NODE_COMPILE_CACHE: fileURLToPath(new URL('.cache/footbridge/compiled', MODULES)) };
}
