import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { printContract } from './contract.ts';
import { recordRun, removeReports, reportPath } from './last-run.ts';
import type { Run } from './last-run.ts';

const QUICK: Run = {
  kind: 'quick',
  node: '26.10.0',
  startedAt: '2026-11-15T15:00:00.000Z',
  stages: ['quick'],
};

describe('npm run contract', () => {
  let cache: string;
  let printed: string[];

  beforeEach(() => {
    cache = mkdtempSync(join(tmpdir(), 'footbridge-contract-'));
    printed = [];
    for (const method of ['log', 'error'] as const)
      vi.spyOn(console, method).mockImplementation((line: string) => void printed.push(line));
  });
  afterEach(() => {
    vi.restoreAllMocks();
    rmSync(cache, { recursive: true });
  });

  function leaveReport(stage: string, status: string): void {
    const assertionResults = [{ title: 'W1 three paths', status }];
    writeFileSync(reportPath(cache, stage), JSON.stringify({ testResults: [{ assertionResults }] }));
  }

  it('names the command that creates a table when no run is recorded', () => {
    expect(printContract(cache)).toBe(false);
    expect(printed).toEqual([expect.stringContaining('npm test -- --quick')]);
  });

  it('prints the time and the Node version of the last run, and that it was partial', () => {
    recordRun(cache, QUICK);
    leaveReport('quick', 'passed');
    expect(printContract(cache)).toBe(true);
    expect(printed).toContainEqual(expect.stringMatching(/^W1 +pass +1 tests/));
    expect(printed.at(-2)).toBe('contract: quick run of 2026-11-15T15:00:00.000Z on Node 26.10.0');
    expect(printed.at(-1)).toContain('a partial run');
  });

  it('fails when a clause of a partial run fails', () => {
    recordRun(cache, QUICK);
    leaveReport('quick', 'failed');
    expect(printContract(cache)).toBe(false);
  });

  it('fails when a clause of a full run has no tests', () => {
    recordRun(cache, { ...QUICK, kind: 'full' });
    leaveReport('quick', 'passed');
    expect(printContract(cache)).toBe(false);
    expect(printed.join('\n')).toContain('contract: W2 has no passing test');
  });

  it('does not mistake an interrupted run for the one before it', () => {
    const full: Run = { ...QUICK, kind: 'full', stages: ['light', 'heavy'] };
    leaveReport('light', 'passed');
    leaveReport('heavy', 'passed');
    removeReports(cache, full.stages);
    recordRun(cache, full);
    leaveReport('light', 'passed');
    expect(printContract(cache)).toBe(false);
    expect(printed.at(-1)).toContain('the run did not end');
  });
});
