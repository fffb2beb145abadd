import { describe, expect, it } from 'vitest';

import { HELP, OptionsError, parseCommandLine } from './options.ts';

describe('the options of the campaign', () => {
  it('accept the full size', () => {
    const args = '--messages 40000 --faults 2000 --kills 200 --nodes 4 --seed 7 --resume'.split(' ');
    expect(parseCommandLine(args)).toEqual({
      command: 'run',
      options: {
        messages: 40_000,
        faults: 2000,
        kills: 200,
        nodes: 4,
        seed: 7,
        locations: 12,
        agents: 2,
        roundSize: 1000,
      },
      out: '.cache/campaign',
      resume: true,
    });
  });

  it('kill a node in every tenth fault unless told otherwise', () => {
    expect(parseCommandLine(['--faults', '50'])).toMatchObject({ options: { kills: 5 } });
  });

  it('accept a report to shrink', () => {
    expect(parseCommandLine(['--shrink', 'report.json', '--budget', '9'])).toMatchObject({
      command: 'shrink',
      report: 'report.json',
      budget: 9,
    });
  });

  it.each([
    [['--messages', '0']],
    [['--faults', 'many']],
    [['--kills', '9', '--faults', '8']],
    [['--fast']],
    [['--seed', '-1']],
  ])('reject %j', (args) => {
    expect(() => parseCommandLine(args)).toThrow(OptionsError);
  });

  it('have a help text with every option and two examples', () => {
    for (const name of [
      'messages',
      'faults',
      'kills',
      'nodes',
      'locations',
      'agents',
      'round-size',
      'seed',
      'out',
      'resume',
      'shrink',
      'budget',
    ])
      expect(HELP).toContain(`--${name}`);
    const examples = HELP.slice(HELP.indexOf('Examples'))
      .split('\n')
      .filter((line) => line.includes('campaign.ts'));
    expect(examples).toHaveLength(2);
    for (const example of examples)
      expect(() => parseCommandLine(example.trim().split(' ').slice(3))).not.toThrow();
  });
});
