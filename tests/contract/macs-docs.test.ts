import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { CLOSE_MEANINGS } from '@footbridge/service/platform/asyncapi/asyncapi-document';
import {
  DEVICE_TRANSITIONS,
  LICENSE_TRANSITIONS,
  LOCATION_TRANSITIONS,
} from '@footbridge/service/relay/accounts/transitions';

const page = readFileSync(new URL('../../docs/macs.md', import.meta.url), 'utf8');

/** The rows of the table that follows this text. */
function tableAfter(text: string): string[] {
  const [, after = ''] = page.split(`\n${text}\n`);
  const lines = after.split('\n');
  const first = lines.findIndex((line) => line.startsWith('|---'));
  const rows = lines.slice(first + 1);
  return rows.slice(
    0,
    rows.findIndex((line) => !line.startsWith('|')),
  );
}

describe('docs/macs.md', () => {
  it.each([
    ['License', LICENSE_TRANSITIONS],
    ['Device', DEVICE_TRANSITIONS],
    ['Location', LOCATION_TRANSITIONS],
  ])('M8 lists the same states of a %s as the code', (title, transitions) => {
    expect(tableAfter(title)).toEqual(
      transitions.map(({ from, to, by, rule }) => `| ${from} | ${to} | ${by} | ${rule} |`),
    );
  });

  it('M1 lists the same close codes as the code', () => {
    const rows = Object.entries(CLOSE_MEANINGS).map(
      ([code, [meaning, macThen]]) => `| ${code} | ${meaning} | ${macThen} |`,
    );
    const table = page.split('\n').filter((line) => /^\| \d{4} \|/.test(line));
    expect(table).toEqual(rows);
  });
});
