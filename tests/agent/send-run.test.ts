import { describe, expect, it } from 'vitest';

import { runSends } from './send-run.ts';

describe('the agent on a Mac', () => {
  it('M4 sends nothing twice or to others, reports what people got and leaks nothing, with faults and kills', async () => {
    const report = await runSends({ jobs: 40, faults: 18, kills: 6, seed: 10, speed: 10, macos: 26 });
    expect(report).toMatchObject({ doubled: [], misdirected: [], wrong: [], leaks: [] });
    expect(report.resolved).toBe(report.interrupted);
    expect(report.resent).toBeGreaterThan(0);
    expect(report.durations.length).toBeGreaterThan(0);
  });
});
