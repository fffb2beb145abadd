import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { forgetRuns, printContract, reportOf } from './contract.ts';

describe('npm run contract', () => {
  let root: string;
  let printed: string[];

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'footbridge-contract-'));
    mkdirSync(join(root, '.cache'));
    printed = [];
    for (const method of ['log', 'error'] as const)
      vi.spyOn(console, method).mockImplementation((line: string) => void printed.push(line));
  });
  afterEach(() => {
    vi.restoreAllMocks();
    rmSync(root, { recursive: true });
  });

  function leaveReport(kind: 'full' | 'quick', status: string): void {
    const assertionResults = [{ title: 'W1 three paths', status }];
    const startTime = Date.UTC(2026, 10, 15, 15);
    writeFileSync(reportOf(root, kind), JSON.stringify({ startTime, testResults: [{ assertionResults }] }));
  }

  it('names the command that creates a table when no run is recorded', () => {
    expect(printContract(root)).toBe(false);
    expect(printed).toEqual([expect.stringContaining('npm test -- --quick')]);
  });

  it('prints the time of the last run, and that it was partial', () => {
    leaveReport('quick', 'passed');
    expect(printContract(root)).toBe(true);
    expect(printed).toContainEqual(expect.stringMatching(/^W1 +pass +1 tests/));
    expect(printed.at(-2)).toBe('contract: quick run of 2026-11-15T15:00:00.000Z');
    expect(printed.at(-1)).toContain('a partial run');
  });

  it('fails when a clause of a partial run fails', () => {
    leaveReport('quick', 'failed');
    expect(printContract(root)).toBe(false);
  });

  it('fails when a clause of a full run has no tests', () => {
    leaveReport('full', 'passed');
    expect(printContract(root)).toBe(false);
    expect(printed.join('\n')).toContain('contract: W2 has no passing test');
  });

  it('does not mistake an interrupted run for the one before it', () => {
    leaveReport('full', 'passed');
    forgetRuns(root);
    expect(printContract(root)).toBe(false);
    expect(printed.join()).toContain('did not end');
  });
});
