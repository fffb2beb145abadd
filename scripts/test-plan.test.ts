import { matchesGlob } from 'node:path';

import { describe, expect, it } from 'vitest';

import { planStages } from './test-plan.ts';

const ALL = { quick: false, node: undefined, filters: [] };
const excludedBy = (args: readonly string[]) => args.filter((_, index) => args[index - 1] === '--exclude');

describe('the plan of npm test', () => {
  it('runs every file once: what the light stage leaves out is what the heavy stage runs', () => {
    const [light, heavy] = planStages(ALL);
    const heavyFolders = heavy?.args.filter((arg) => !arg.startsWith('--')) ?? [];
    expect(excludedBy(light?.args ?? [])).toEqual(
      heavyFolders.map((path) => (path.endsWith('/') ? `${path}**` : path)),
    );
  });

  it.each([
    ['tests/nodes/failover.test.ts', false],
    ['tests/crashes/token-crashes.test.ts', false],
    ['tests/contract/macs-crash.test.ts', false],
    ['packages/agent/test/crash-outbound.test.ts', false],
    ['packages/service/src/media/browser.test.ts', false],
    ['packages/demo/src/page.test.ts', false],
    ['packages/demo/src/page/inbox/threads.test.ts', true],
    ['tests/contract/webhook.test.ts', true],
    ['packages/service/src/ports/switchboard/switchboard-redis.test.ts', true],
  ])('--quick and %s: %s', (file, runs) => {
    const [stage] = planStages({ ...ALL, quick: true });
    expect(!excludedBy(stage?.args ?? []).some((glob) => matchesGlob(file, glob))).toBe(runs);
  });

  it('with files, runs these alone', () => {
    expect(planStages({ ...ALL, filters: ['packages/kit'] })).toEqual([
      { name: 'selected', args: ['packages/kit'] },
    ]);
  });
});
