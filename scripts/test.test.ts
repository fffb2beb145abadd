import { describe, expect, it } from 'vitest';

import { planOf } from './test.ts';

describe('the arguments of npm test', () => {
  it.each([
    [[], { kind: 'full', args: [] }],
    [['--quick', '--node', '22'], { kind: 'quick', args: ['--project=unit'], node: '22' }],
    [['tests/contract', 'packages/kit'], { args: ['tests/contract', 'packages/kit'] }],
    [['--changed'], { args: ['--changed'] }],
    [['--changed', 'main'], { args: ['--changed=main'] }],
    [['--coverage'], { args: ['--project=unit', '--project=programs', '--coverage'] }],
    [['--help'], 'help'],
  ])('%j choose what runs', (args, plan) => {
    expect(planOf(args)).toEqual(plan);
  });

  it.each([
    [['--fast'], /Unknown option '--fast'/],
    [['--node'], /argument missing/],
    [['--node', 'lts'], /--node takes a version/],
    [['--node', '../22'], /--node takes a version/],
    [['--quick', 'tests/contract'], /only one of/],
    [['--quick', '--coverage'], /only one of/],
    [['--changed', 'a', 'b'], /--changed takes one/],
  ])('%j are rejected with a message', (args, problem) => {
    expect(planOf(args)).toEqual({ problem: expect.stringMatching(problem) });
  });
});
