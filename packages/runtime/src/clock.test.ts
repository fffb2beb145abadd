import { spawnSync } from 'node:child_process';

import { FakeClock } from '@footbridge/testkit/fake-clock';
import { describe, expect, it } from 'vitest';

import { every, systemClock } from './clock.ts';

it('sleep ends early when its signal aborts', async () => {
  const abort = new AbortController();
  const slept = systemClock.sleep(3_600_000, abort.signal);
  abort.abort();
  await slept;
  await systemClock.sleep(3_600_000, abort.signal);
});

it('a cancelled task does not run', async () => {
  let ran = false;
  systemClock.after(0, () => (ran = true))();
  await systemClock.sleep(5);
  expect(ran).toBe(false);
});

it('every repeats until it is stopped', async () => {
  const clock = new FakeClock();
  let runs = 0;
  const stop = every(clock, 100, () => runs++);
  await clock.advance(350);
  stop();
  await clock.advance(500);
  expect(runs).toBe(3);
});

describe('a process whose only work is a pending timer', () => {
  const CLOCK = new URL('clock.ts', import.meta.url).href;

  it.each([
    [true, 'done'],
    [false, ''],
  ])('with keepAlive %s prints %j', (keepAlive, printed) => {
    const program = `import { createSystemClock } from ${JSON.stringify(CLOCK)};
      createSystemClock({ keepAlive: ${keepAlive} }).after(1, () => process.stdout.write('done'));`;
    const args = ['--input-type=module-typescript', '--disable-warning=ExperimentalWarning', '-e', program];
    expect(spawnSync(process.execPath, args, { encoding: 'utf8' })).toMatchObject({
      stdout: printed,
      stderr: '',
      status: 0,
    });
  });
});
