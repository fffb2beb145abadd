import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';

import { describe, expect, it } from 'vitest';

import { AGENT_BASE, LAYERS, PACKAGES, ROOMS } from './rules.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
const IS_TEST = /\.(?:test|contract|fixture|bench)\.ts$/;

interface Row {
  readonly names: readonly string[];
  /** The names in code of the middle column. */
  readonly holds: readonly string[];
  readonly mayImport: readonly string[];
}

/** The names in code of a text. */
const codesIn = (text: string): string[] => Array.from(text.matchAll(/`([^`]+)`/g), ([, name = '']) => name);

/** The table under a heading: the names in code of its first columns, the words of its last one. */
function tableOf(heading: string): Row[] {
  const lines = sectionOf(heading)
    .split('\n')
    .filter((line) => line.startsWith('| `'));
  return lines.map((line) => {
    const [first = '', middle = '', last = ''] = line.slice(1).split('|');
    return {
      names: codesIn(first),
      holds: codesIn(middle),
      mayImport: last
        .split(',')
        .map((word) => word.trim())
        .filter((word) => word !== ''),
    };
  });
}

function sectionOf(heading: string): string {
  const [section = ''] = PAGE.split(`## ${heading}\n`)[1]?.split('\n## ') ?? [];
  return section;
}

/** Whether a name of the page, a file or a folder with `*` for any name, covers a file. */
const covers = (name: string, file: string): boolean =>
  matchesGlob(file, name) || matchesGlob(file, `${name}/**`);

describe('the table of packages', () => {
  it('lists every package with the imports that the rules allow', () => {
    const page = tableOf('The packages').map(({ names, mayImport }) => [names[0], mayImport.toSorted()]);
    const rules = Object.entries(PACKAGES).map(([name, allowed]) => [name, allowed.toSorted()]);
    expect(Object.fromEntries(page)).toEqual(Object.fromEntries(rules));
    expect(new Set(page.map(([name]) => name))).toEqual(new Set(readdirSync(join(ROOT, 'packages'))));
  });
});

describe.each([
  ['The service', 'service'],
  ['The agent', 'agent'],
])('the table of %s', (heading, name) => {
  const rows = tableOf(heading);
  const parts = LAYERS[name] ?? [];
  const files = globSync('**/*.ts', { cwd: join(ROOT, 'packages', name, 'src') })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => !IS_TEST.test(file));
  const partOf = (file: string) => parts.find((part) => part.files.test(file));

  it('has a row for every file', () => {
    const listed = rows.flatMap(({ names }) => names);
    expect(files.filter((file) => !listed.some((one) => covers(one, file)))).toEqual([]);
  });

  it('has a row for every part of the rules', () => {
    const listed = new Set(rows.flatMap(({ names }) => names.map((one) => partOf(example(one))?.name)));
    expect(listed).toEqual(new Set(parts.map((part) => part.name)));
  });

  it.each(rows)('$names exists and may import $mayImport', ({ names, mayImport }) => {
    for (const one of names) {
      expect(files.filter((file) => covers(one, file))).not.toEqual([]);
      const part = partOf(example(one));
      const expand = (word: string) => wordsFor(word, part?.name ?? '');
      expect(mayImport.flatMap(expand).toSorted()).toEqual(part?.mayImport.toSorted());
    }
  });
});

it.each(['edges', 'flows', 'ports'])('the row of %s names each of them', (part) => {
  const row = tableOf('The agent').find(({ names }) => names[0] === part);
  const files = readdirSync(join(ROOT, 'packages/agent/src', part)).filter((file) => !IS_TEST.test(file));
  expect(row?.holds).toEqual(files.map((file) => file.replace(/\.ts$/, '')).toSorted());
});

it('the contributions are the ways to register with the host', () => {
  const source = readFileSync(join(ROOT, 'packages/service/src/platform/host.ts'), 'utf8');
  const [, members = ''] = /export interface Host \{\n([^]*?)\n\}/.exec(source) ?? [];
  const methods = Array.from(members.matchAll(/^  (\w+)[<(]/gm), ([, name = '']) => name);
  expect(methods.length).toBeGreaterThan(10);
  const named = new Set(codesIn(sectionOf('What a part contributes')));
  expect(methods.filter((name) => !named.has(name))).toEqual([]);
});

it('every file that the page names exists', () => {
  const bases = ['.', 'packages/service/src', 'packages/agent/src'];
  const named = Array.from(
    PAGE.matchAll(/`([\w./-]+\/[\w.-]+\.(?:ts|js|json|md))`/g),
    ([, path = '']) => path,
  );
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((path) => !bases.some((base) => existsSync(join(ROOT, base, path))))).toEqual([]);
});

/** A file that a name of the page covers. */
function example(name: string): string {
  const path = name.replaceAll('*', 'example');
  return path.endsWith('.ts') ? path : `${path}/example.ts`;
}

/** What a word of the page's last column stands for in the row of a part. */
function wordsFor(word: string, part: string): readonly string[] {
  const rooms = ROOMS.map((name) => `relay/${name}`);
  if (word === 'the line') return ['platform', ...rooms.slice(0, rooms.indexOf(part))];
  if (word === 'the rooms') return rooms;
  if (word === 'the base') return AGENT_BASE;
  return word === 'everything but main' ? ['*'] : [word];
}
