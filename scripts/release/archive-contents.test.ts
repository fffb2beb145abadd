import { expect, it } from 'vitest';

import { contentFaults } from './archive-contents.ts';

const RULES = {
  required: ['package.json', 'src/main.js'],
  allowed: ['package.json', 'src/**.js', 'src/**.d.ts', 'bin/*.mjs'],
  bundled: ['@scope/one', 'two'],
  maxMegabytes: 1,
};
const GOOD = [
  'package.json',
  'src/main.js',
  'src/deep/part.d.ts',
  'bin/run.mjs',
  'node_modules/@scope/one/index.js',
  'node_modules/two/index.js',
  'node_modules/two/node_modules/three/index.js',
];
const faults = (paths: readonly string[], size = 10) =>
  contentFaults(
    paths.map((path) => ({ path, size })),
    RULES,
  );

it('accepts files that match the rules', () => {
  expect(faults(GOOD)).toEqual([]);
});

it.each([
  [GOOD.filter((path) => path !== 'src/main.js'), 'src/main.js is missing'],
  [[...GOOD, 'secrets.txt'], 'secrets.txt is not on the list'],
  [[...GOOD, 'bin/deep/run.mjs'], 'bin/deep/run.mjs is not on the list'],
  [[...GOOD, 'src/main.test.js'], 'src/main.test.js must not be published'],
  [[...GOOD, 'node_modules/four/index.js'], 'the dependency four is not on the list'],
  [GOOD.filter((path) => !path.includes('@scope')), 'the dependency @scope/one is missing'],
])('reports a difference (%#)', (paths, fault) => {
  expect(faults(paths)).toEqual([fault]);
});

it('reports TypeScript sources, settings and databases twice: as forbidden and as not on the list', () => {
  for (const path of ['src/main.ts', '.env', 'data/footbridge.sqlite'])
    expect(faults([...GOOD, path])).toEqual([`${path} must not be published`, `${path} is not on the list`]);
});

it('reports an archive that is too large', () => {
  expect(faults(GOOD, 200_000)).toEqual(['it is 1.4 MB, more than 1 MB']);
});
