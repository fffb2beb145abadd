import { stripVTControlCharacters } from 'node:util';

import { expect, it } from 'vitest';

import { countFindings, fail, formatCounts, formatFindings, pass, warn } from './finding.ts';

const FINDINGS = [
  pass('clock', '1 s off'),
  warn('public URL', 'not encrypted', 'use https'),
  fail('CRM', 'responds \u001b[31mred', 'check it'),
];

it('aligns findings, and shows the next step under each that did not pass', () => {
  expect(formatFindings(FINDINGS).map(stripVTControlCharacters)).toEqual([
    '✔ clock       1 s off',
    '⚠ public URL  not encrypted\n              Next: use https',
    '✖ CRM         responds ·[31mred\n              Next: check it',
  ]);
});

it('counts failures and warnings', () => {
  expect(formatCounts(countFindings(FINDINGS))).toBe('1 failure, 1 warning.');
  expect(formatCounts(countFindings([]))).toBe('0 failures, 0 warnings.');
});
