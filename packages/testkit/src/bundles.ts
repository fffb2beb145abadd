import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** The environment variable with the folder of the bundles. It is set for a run of all tests. */
export const BUNDLES = 'FOOTBRIDGE_TEST_BUNDLES';

/** Returns the bundle of a program, if this run of the tests has one: it starts with a third of the CPU. */
export function bundleOf(main: string): string {
  const folder = process.env[BUNDLES];
  if (folder === undefined) return main;
  const bundle = join(folder, `${nameOf(main)}.js`);
  return existsSync(bundle) ? bundle : main;
}

/** The name of a program's bundle, without its extension. */
export const nameOf = (main: string) =>
  relative(ROOT, resolve(ROOT, main)).replace(/\.ts$/, '').replaceAll(/\W+/g, '-');
