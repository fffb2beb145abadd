import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { BUNDLES, bundleOf } from '@footbridge/testkit/bundles';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterEach, expect, it, vi } from 'vitest';

import { writeBundles } from './write-bundles.ts';

const cleanup = createCleanup();
afterEach(() => {
  vi.unstubAllEnvs();
  return cleanup.run();
});

/** A program with a static and a dynamic import, whose modules read files beside them in two ways. */
const PROGRAM = {
  'main.ts': `import { inspect } from 'node:util';
    import { greeting } from './parts/greeting.ts';
    const { name } = await import('./name.ts');
    class Shown extends Error {}
    const loaded = process.moduleLoadList.includes('NativeModule worker_threads');
    console.log(greeting, name, new Shown().constructor.name, process.argv.slice(2).join(), inspect([1]), loaded);`,
  'parts/greeting.ts': `import { readFileSync } from 'node:fs';
    class Shown {}
    export const greeting: string = readFileSync(new URL('greeting.txt', import.meta.url), 'utf8') + new Shown().constructor.name;`,
  'parts/greeting.txt': 'Hello ',
  'name.ts': `import { readFileSync } from 'node:fs';
    export const name = readFileSync(import.meta.dirname + '/name.txt', 'utf8');`,
  'name.txt': 'Ann',
};

it('a bundle does the same as its program, and loads only what it uses of built-in modules', async () => {
  const folder = await tempDir(cleanup);
  mkdirSync(join(folder, 'src/parts'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const [name, text] of Object.entries(PROGRAM)) writeFileSync(join(folder, 'src', name), text);
  const main = join(folder, 'src/main.ts');
  expect(bundleOf(main)).toBe(main);
  await writeBundles(join(folder, 'bundles'), [main]);
  vi.stubEnv(BUNDLES, join(folder, 'bundles'));
  const bundle = bundleOf(main);
  expect(bundle).not.toBe(main);
  const { stdout } = spawnSync(process.execPath, [bundle, 'a', 'b'], { encoding: 'utf8' });
  expect(stdout).toBe('Hello Shown Ann Shown a,b [ 1 ] false\n');
  expect(bundleOf(join(folder, 'src/name.ts'))).toBe(join(folder, 'src/name.ts'));
});
