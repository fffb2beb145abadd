import { spawnSync } from 'node:child_process';

import { expect, it } from 'vitest';

const MODULE = new URL('tune-v8.ts', import.meta.url).href;
const TUNE = `import { tuneCollections } from ${JSON.stringify(MODULE)}; tuneCollections();`;
const KEEP = `import { keepNextTickFast } from ${JSON.stringify(MODULE)}; keepNextTickFast();`;

/**
 * Returns how many times as long a call of `process.nextTick` takes after a major garbage collection while no tick was queued. Both
 * durations are the best of many short attempts in one process, because other programs may use the processor meanwhile.
 */
function slowdown(prelude: string): number {
  const program = `
    ${prelude}
    import { Session } from 'node:inspector/promises';
    import { setTimeout as sleep } from 'node:timers/promises';
    const ticks = (count) => new Promise((done) => {
      const started = process.hrtime.bigint();
      const tick = () => {
        count -= 1;
        if (count === 0) done(Number(process.hrtime.bigint() - started));
        else process.nextTick(tick);
      };
      setImmediate(tick);
    });
    const best = async () => {
      const durations = [];
      for (let attempt = 0; attempt < 40; attempt += 1) {
        durations.push(await ticks(10_000));
        await sleep(5);
      }
      return Math.min(...durations);
    };
    const before = await best();
    const session = new Session();
    session.connect();
    await session.post('HeapProfiler.collectGarbage');
    console.log(await best() / before);
  `;
  return run(program);
}

function run(program: string): number {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  return Number(stdout);
}

it('process.nextTick is as fast after a major garbage collection as before it', () => {
  // Without keepNextTickFast it takes 4 to 17 times as long.
  expect(slowdown(KEEP)).toBeLessThan(2.5);
});

it('tunes collections only with flags that V8 knows', () => {
  // V8 prints a line about a flag that it does not know.
  expect(run(`${TUNE} console.log(1)`)).toBe(1);
});
