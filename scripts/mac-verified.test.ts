import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { createCleanup, tempDir } from '@footbridge/testkit/cleanup';
import { afterEach, expect, it } from 'vitest';

import { verifiedPage, verifiedTable } from './mac-verified.ts';

const ROOT = join(import.meta.dirname, '..');
const cleanup = createCleanup();
afterEach(() => cleanup.run());

/** A repository with these records. */
async function rootWith(...records: object[]): Promise<string> {
  const root = await tempDir(cleanup);
  const folder = join(root, 'packages/agent/fixtures/selftest');
  await mkdir(folder, { recursive: true });
  await mkdir(join(root, 'docs'));
  await writeFile(join(root, 'docs/mac-verified.md'), await readFile(join(ROOT, 'docs/mac-verified.md')));
  for (const [index, record] of records.entries())
    await writeFile(join(folder, `${index}.json`), JSON.stringify(record));
  return root;
}

const record = (version: string, verdict: string, onMac = true) => ({
  format: 1,
  agent: '0.1.0',
  onMac,
  macos: { version },
  capabilities: ['text'],
  steps: [{ name: 'text', verdict, tookMs: 1 }],
});

it('a record of a Mac verifies the capabilities that worked, in the table and on the page', async () => {
  const root = await rootWith(
    record('26.1', 'verified'),
    record('15.6', 'verified'),
    record('14.8', 'failed'),
  );
  expect(verifiedTable(root)).toContain("{ capability: 'text', macos: '15.6, 26.1' }");
  expect(verifiedPage(root)).toContain('| `text` | 15.6, 26.1 |');
  expect(verifiedPage(root)).toContain('| `groups` | not yet verified on a Mac |');
});

it('a record of a simulated macOS verifies nothing', async () => {
  const root = await rootWith(record('26.1', 'verified', false));
  expect(verifiedPage(root)).toContain('| `text` | not yet verified on a Mac |');
});

it('names a file that is not a record', async () => {
  const root = await rootWith({ onMac: true, macos: { version: '26.1' }, steps: [{ name: 'text' }] });
  expect(() => verifiedPage(root)).toThrow(/0\.json is not a record of a selftest: .*verdict/);
});
