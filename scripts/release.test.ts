import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, expect, it } from 'vitest';

import { prepareRelease } from './release.ts';
import { sbomFaults } from './release/sbom.ts';

const ROOT = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'footbridge-release-'));
afterAll(() => rmSync(folder, { recursive: true }));

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

it('writes archives that match the list, checksums, bills of materials, notices and release notes', async () => {
  const lines = await prepareRelease(folder, '2026-01-31');
  expect(
    readdirSync(folder)
      .filter((name) => !name.startsWith('.'))
      .toSorted(),
  ).toEqual(
    [
      'SHA256SUMS',
      'THIRD-PARTY-NOTICES',
      `footbridge-${version}.cdx.json`,
      `footbridge-${version}.tgz`,
      `footbridge-agent-${version}.cdx.json`,
      `footbridge-agent-${version}.tgz`,
      `footbridge-kit-${version}.tgz`,
      `kit-${version}.cdx.json`,
      'release-notes.md',
    ].toSorted(),
  );
  const sums = readFileSync(join(folder, 'SHA256SUMS'), 'utf8').trimEnd().split('\n');
  expect(sums).toHaveLength(7);
  for (const line of sums) {
    const [, sum, name = ''] = /^([0-9a-f]{64}) {2}(.+)$/.exec(line) ?? [];
    expect(
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ).toBe(sum);
  }
  const sbom: { components: { name: string }[] } = JSON.parse(
    readFileSync(join(folder, `footbridge-${version}.cdx.json`), 'utf8'),
  );
  expect(sbomFaults(sbom)).toEqual([]);
  expect(sbom.components.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['fastify', 'pg', 'kysely']),
  );
  expect(lines.join('\n')).toContain(`## ${version} — 2026-01-31`);
  expect(lines.join('\n')).toContain(`git tag --sign v${version}`);
});

it('without --dry-run does nothing and says who publishes', async () => {
  const script = join(ROOT, 'scripts/release.ts');
  const ended = promisify(execFile)(process.execPath, ['--disable-warning=ExperimentalWarning', script]);
  await expect(ended).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('--dry-run') });
});
