import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, expect, it } from 'vitest';

import { FAILURES_FILE } from './failure-times.ts';
import type { Failures } from './failure-times.ts';

const ROOT = join(import.meta.dirname, '..');
// Inside the checkout, so that the tests in it find vitest.
mkdirSync(join(ROOT, '.cache'), { recursive: true });
const folder = mkdtempSync(join(ROOT, '.cache/failure-times-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs test files in a vitest of their own. Returns what the reporter wrote. */
function run(
  name: string,
  files: Record<string, string>,
): Failures & { readonly path: (file: string) => string } {
  const root = join(folder, name);
  mkdirSync(root);
  writeFileSync(join(root, 'vitest.config.ts'), 'export default {};');
  for (const [file, code] of Object.entries(files))
    writeFileSync(
      join(root, file),
      `import { beforeAll, expect, it } from 'vitest';
      const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
      ${code}`,
    );
  const written = join(root, 'failures.json');
  spawnSync(
    process.execPath,
    [
      join(ROOT, 'node_modules/vitest/vitest.mjs'),
      'run',
      `--root=${root}`,
      `--reporter=${join(ROOT, 'scripts/failure-times.ts')}`,
    ],
    { cwd: root, env: { ...process.env, [FAILURES_FILE]: written } },
  );
  return { ...(JSON.parse(readFileSync(written, 'utf8')) as Failures), path: (file) => join(root, file) };
}

it('names each failed file with its start and its first failure', () => {
  const before = Date.now();
  const { files, others, path } = run('failed', {
    'passed.test.ts': "it('passes', () => {});",
    'loading.test.ts': `import { writeFileSync } from 'node:fs';
      await sleep(300);
      it('fails', () => expect(1).toBe(2));
      it('runs after the failure', async () => {
        await sleep(500);
        writeFileSync(import.meta.dirname + '/ended', String(Date.now()));
      });`,
    'hook.test.ts':
      "beforeAll(async () => { await sleep(300); throw new Error('no'); }); it('passes', () => {});",
    'broken.test.ts': "throw new Error('not loaded');",
  });
  const after = Date.now();
  expect(others).toBe(0);
  const byPath = new Map(files.map((file) => [file.path, file]));
  expect([...byPath.keys()].sort()).toEqual(
    ['broken', 'hook', 'loading'].map((name) => path(`${name}.test.ts`)),
  );
  for (const { startedAt, failedAt } of files) {
    expect(startedAt).toBeGreaterThanOrEqual(before);
    expect(failedAt).toBeGreaterThanOrEqual(startedAt);
    expect(failedAt).toBeLessThanOrEqual(after);
  }
  const lasted = (name: string) => {
    const { startedAt = 0, failedAt = 0 } = byPath.get(path(name)) ?? {};
    return failedAt - startedAt;
  };
  expect(lasted('loading.test.ts')).toBeGreaterThanOrEqual(290);
  const { failedAt = 0 } = byPath.get(path('loading.test.ts')) ?? {};
  const ended = Number(readFileSync(path('ended'), 'utf8'));
  expect(ended - failedAt).toBeGreaterThanOrEqual(490);
  expect(lasted('hook.test.ts')).toBeGreaterThanOrEqual(290);
});

it('counts errors outside of tests', () => {
  const { others } = run('outside', {
    'a.test.ts':
      "it('passes', () => { setTimeout(() => { throw new Error('late'); }, 1); return sleep(200); });",
  });
  expect(others).toBe(1);
});
