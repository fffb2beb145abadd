import { globSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';

import { bundleOf } from '@footbridge/runtime/bundle.js';
import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterEach, expect, it } from 'vitest';

import { writeBundle } from './bundle.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

/** A program with a static and a dynamic import, whose modules read files beside them in two ways. */
const PROGRAM = {
  '../package.json': '{ "type": "module" }',
  'main.ts': `import { greeting } from './parts/greeting.ts';
    const { name } = await import('./name.ts');
    class Shown extends Error {}
    console.log(greeting, name, new Shown().constructor.name, process.argv.slice(2).join());`,
  'parts/greeting.ts': `import { readFileSync } from 'node:fs';
    class Shown {}
    export const greeting: string = readFileSync(new URL('greeting.txt', import.meta.url), 'utf8') + new Shown().constructor.name;`,
  'parts/greeting.txt': 'Hello ',
  'name.ts': `import { readFileSync } from 'node:fs';
    export const name = readFileSync(import.meta.dirname + '/name.txt', 'utf8');`,
  'name.txt': 'Ann',
};

async function writeProgram(): Promise<string> {
  const folder = join(await tempDir(cleanup), 'packages/hello/src');
  mkdirSync(join(folder, 'parts'), { recursive: true });
  for (const [name, text] of Object.entries(PROGRAM)) writeFileSync(join(folder, name), text);
  return folder;
}

it.each([
  ['name.ts', "export const name = 'Bob';"],
  ['../package.json', '{ "type": "module", "exports": {} }'],
])('writes a bundle that does the same as the program, until %s changes', async (name, text) => {
  const folder = await writeProgram();
  const main = join(folder, 'main.ts');
  const output = (file: string) => spawnSync(process.execPath, [file, 'a', 'b'], { encoding: 'utf8' }).stdout;
  expect(bundleOf(main)).toBe(main);
  await writeBundle(main);
  const bundle = bundleOf(main);
  expect(bundle).toBe(join(folder, '../dist/main.js'));
  expect(output(bundle)).toBe('Hello Shown Ann Shown a,b\n');
  expect(output(main)).toBe(output(bundle));
  writeFileSync(join(folder, name), text);
  expect(bundleOf(main)).toBe(main);
});

it('writes a bundle that reads only the exports of built-in modules that it uses', async () => {
  const folder = await writeProgram();
  const main = join(folder, 'main.ts');
  writeFileSync(
    main,
    `import process from 'node:process';
    import path, { join as joined, sep } from 'node:path';
    import * as os from 'node:os';
    import { createRequire } from 'node:module';
    import { inspect } from 'node:util';
    const loaded = process.moduleLoadList.includes('NativeModule worker_threads');
    console.log(path.basename(joined('a', 'b')), sep, os.default.EOL.length, typeof createRequire, inspect([1]), loaded);
    console.log(\`
import { inspect } from "node:util";
\`);`,
  );
  await writeBundle(main);
  const bundle = bundleOf(main);
  const text = globSync(join(bundle, '../*.js')).map((file) => readFileSync(file, 'utf8'));
  expect(text.join('').match(/^import .*"node:/gm)).toEqual([
    'import * as os from "node:',
    'import { inspect } from "node:',
  ]);
  const { stdout } = spawnSync(process.execPath, [bundle], { encoding: 'utf8' });
  expect(stdout).toBe('b / 1 function [ 1 ] false\n\nimport { inspect } from "node:util";\n\n');
});

it('does not use a bundle if a file changed while it was being written', async () => {
  const folder = await writeProgram();
  const main = join(folder, 'main.ts');
  const later = new Date(Date.now() + 1000);
  utimesSync(join(folder, 'name.ts'), later, later);
  await writeBundle(main);
  expect(bundleOf(main)).toBe(main);
});
