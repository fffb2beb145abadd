import { describe, expect, it } from 'vitest';

import { contractTable } from './contract-table.ts';
import type { Report } from './contract-table.ts';

const CLAUSES = { W1: 'three paths', E1: 'events are signed' };

function report(tests: Record<string, string>): Report {
  const assertionResults = Object.entries(tests).map(([title, status]) => ({ title, status }));
  return { startTime: 0, testResults: [{ assertionResults }] };
}

const table = (tests: Record<string, string>, { open = [] as string[], partial = false } = {}) =>
  contractTable(CLAUSES, new Set(open), report(tests), partial);

describe('the table of the contract', () => {
  it('counts the passing tests of every clause', () => {
    const { lines, faults } = table({ 'W1 first': 'passed', 'E1 one': 'passed', 'W1 second': 'passed' });
    expect(lines).toEqual([
      'W1   pass        2 tests  three paths',
      'E1   pass        1 tests  events are signed',
    ]);
    expect(faults).toEqual([]);
  });

  it('derives the chapters from the clauses', () => {
    expect(table({ 'W1 first': 'passed', 'E1 one': 'passed', 'T13 no clause': 'passed' }).faults).toEqual([]);
    expect(table({ 'W1 first': 'passed', 'E1 one': 'passed', 'E9 unknown': 'passed' }).faults).toEqual([
      'a test names clause E9, which does not exist: E9 unknown',
    ]);
  });

  it('a clause with a failing test fails, in a partial run too', () => {
    const tests = { 'W1 first': 'passed', 'W1 second': 'failed', 'E1 one': 'passed' };
    for (const partial of [false, true]) {
      const { lines, faults } = table(tests, { partial });
      expect(lines[0]).toContain('FAIL');
      expect(faults).toEqual(['W1 has a failing test']);
    }
  });

  it('a clause without tests is missing in a complete run', () => {
    const { lines, faults } = table({ 'W1 first': 'passed', 'E1 one': 'skipped' });
    expect(lines[1]).toMatch(/^E1 +MISSING/);
    expect(faults).toEqual(['E1 has no passing test']);
  });

  it('a clause without tests counts as not run in a partial run, which is not a fault', () => {
    const { lines, faults } = table({ 'W1 first': 'passed' }, { partial: true });
    expect(lines[1]).toMatch(/^E1 +not run/);
    expect(faults).toEqual([]);
  });

  it('an open clause may lack tests, and must not stay open once it has some', () => {
    expect(table({ 'W1 first': 'passed' }, { open: ['E1'] }).faults).toEqual([]);
    expect(table({ 'W1 first': 'passed', 'E1 one': 'passed' }, { open: ['E1'] }).faults).toEqual([
      'E1 has passing tests: remove it from the open clauses',
    ]);
  });
});
