import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { copySources, withNodeFirst } from './other-node.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'footbridge-copy-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function write(path: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), path);
}

it('the copy has the current sources, the installed dependencies, and nothing generated', () => {
  for (const path of ['package.json', 'packages/kit/src/kit.ts', 'node_modules/ws/ws.js', '.git/HEAD'])
    write(`from/${path}`);
  for (const path of ['packages/kit/dist/kit.js', 'packages/kit/node_modules/x/x.js', '.cache/run.json'])
    write(`from/${path}`);
  for (const path of ['packages/kit/src/removed.ts', 'node_modules/ws/ws.js']) write(`to/${path}`);
  copySources(join(folder, 'from'), join(folder, 'to'));
  const there = (path: string) => existsSync(join(folder, 'to', path));
  expect(readFileSync(join(folder, 'to/packages/kit/src/kit.ts'), 'utf8')).toContain('from/');
  expect(readFileSync(join(folder, 'to/node_modules/ws/ws.js'), 'utf8')).toContain('to/');
  const absent = ['packages/kit/src/removed.ts', 'packages/kit/dist', 'packages/kit/node_modules'];
  expect([...absent, '.git', '.cache'].filter(there)).toEqual([]);
});

it('tools that the tests start find the given Node first', () => {
  expect(withNodeFirst('/nodes/22/bin/node')['PATH']).toMatch(/^\/nodes\/22\/bin[:;]/);
});
