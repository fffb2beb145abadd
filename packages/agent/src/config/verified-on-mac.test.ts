import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { VERIFIED_ON_MAC } from './verified-on-mac-table.ts';
import { notVerified } from './verified-on-mac.ts';

const PAGE = readFileSync(new URL('../../../../docs/mac-verified.md', import.meta.url), 'utf8');
const RECORDS = join(import.meta.dirname, '../../fixtures/selftest');

it('the page has the same table', () => {
  const rows = VERIFIED_ON_MAC.map(
    ({ capability, macos }) =>
      `| \`${capability}\` | ${macos === '' ? 'not yet verified on a Mac' : macos} |`,
  );
  expect(PAGE.split('\n').filter((line) => /^\| `[a-z-]+` \| (not yet|\d)/.test(line))).toEqual(rows);
});

it('every verified capability has a record of a Mac', () => {
  const records = readdirSync(RECORDS).filter((file) => file.endsWith('.json'));
  const found = records.flatMap((file) => {
    const record = JSON.parse(readFileSync(join(RECORDS, file), 'utf8')) as {
      onMac: boolean;
      macos: { version: string };
      steps: { name: string; verdict: string }[];
    };
    const verified = record.steps.filter(({ verdict }) => record.onMac && verdict === 'verified');
    return verified.map(({ name }) => `${name} ${record.macos.version}`);
  });
  for (const { capability, macos } of VERIFIED_ON_MAC)
    for (const version of macos.split(', ').filter(Boolean))
      expect(found).toContain(`${capability} ${version}`);
});

it('names the capabilities without a record', () => {
  expect(notVerified(['text', 'unheard-of'])).toEqual(['text', 'unheard-of']);
});
