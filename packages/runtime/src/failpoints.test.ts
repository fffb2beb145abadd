import { spawnSync } from 'node:child_process';

import { describe, expect, it } from 'vitest';

import { createBlockingFailpoints, createFailpoints, isFailpointList, noFailpoints } from './failpoints.ts';

const FAILPOINTS = new URL('failpoints.ts', import.meta.url).href;

describe('failpoints', () => {
  it.each([undefined, ''])('do nothing when the setting is %j', (list) => {
    expect(createFailpoints(list)).toBeUndefined();
    expect(createBlockingFailpoints(list)).toBe(noFailpoints);
  });

  it.each(['a:explode', 'a', 'a:kill@', 'a:pause', 'a:pause:soon', 'a:throw:1', 'a:kill,', ':kill'])(
    'reject %j',
    (list) => {
      expect(isFailpointList(list)).toBe(false);
      expect(() => createFailpoints(list)).toThrow('name:kill@N');
      expect(() => createBlockingFailpoints(list)).toThrow('name:kill@N');
    },
  );

  it('ignore a name that is not listed', () => {
    expect(() => createBlockingFailpoints('a:kill@3, b.c:throw')('b')).not.toThrow();
  });

  it('throw an error', () => {
    expect(() => createBlockingFailpoints('a:kill,b.c:throw')('b.c')).toThrow('failpoint b.c');
  });

  it('pause the caller, or its thread', async () => {
    const start = performance.now();
    await createFailpoints('a:pause:20')?.('a');
    const paused = performance.now();
    createBlockingFailpoints('a:pause:20')('a');
    expect(paused - start).toBeGreaterThanOrEqual(19);
    expect(performance.now() - paused).toBeGreaterThanOrEqual(19);
  });

  it.each([
    ['a:kill', '1'],
    ['a:kill@3', '123'],
  ])('%s ends the process at the visit it names', (list, visits) => {
    const program = `import { writeSync } from 'node:fs';
      import { createBlockingFailpoints } from ${JSON.stringify(FAILPOINTS)};
      const failpoint = createBlockingFailpoints(${JSON.stringify(list)});
      for (const visit of [1, 2, 3, 4]) { writeSync(1, String(visit)); failpoint('a'); }`;
    const args = ['--input-type=module-typescript', '--disable-warning=ExperimentalWarning', '-e', program];
    expect(spawnSync(process.execPath, args, { encoding: 'utf8' })).toMatchObject({
      stdout: visits,
      signal: 'SIGKILL',
    });
  });
});
