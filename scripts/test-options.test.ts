import { describe, expect, it } from 'vitest';

import { readTestOptions } from './test-options.ts';

describe('the arguments of npm test', () => {
  it('default to everything on the current Node', () => {
    expect(readTestOptions([])).toEqual({ quick: false, node: undefined, filters: [] });
  });

  it('can be --quick and --node together', () => {
    expect(readTestOptions(['--quick', '--node', '22'])).toEqual({ quick: true, node: '22', filters: [] });
    expect(readTestOptions(['--node=22.19.0'])).toMatchObject({ node: '22.19.0' });
  });

  it('can be files and folders', () => {
    expect(readTestOptions(['tests/contract', 'packages/kit'])).toMatchObject({
      filters: ['tests/contract', 'packages/kit'],
    });
  });

  it('can be a request for help', () => {
    expect(readTestOptions(['--help'])).toBe('help');
  });

  it.each([
    [['--fast'], /Unknown option '--fast'/],
    [['--node'], /argument missing/],
    [['--node', 'lts'], /--node takes a version/],
    [['--node', '../22'], /--node takes a version/],
    [['--quick', 'tests/contract'], /cannot be combined/],
  ])('%j is rejected with a message', (args, problem) => {
    expect(readTestOptions(args)).toEqual({ problem: expect.stringMatching(problem) });
  });
});
