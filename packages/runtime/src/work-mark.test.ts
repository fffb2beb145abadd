import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir, uptime } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { afterAll, describe, expect, it } from 'vitest';

import { WorkMark } from './work-mark.ts';

const dir = mkdtempSync(join(tmpdir(), 'work-mark-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** Returns what a process that ran `code` with `mark` and then died left behind. */
async function leftBy(code: string): Promise<string | undefined> {
  const path = join(dir, `mark-${Math.random()}`);
  const program = join(dir, 'program.ts');
  writeFileSync(
    program,
    `import { WorkMark } from ${JSON.stringify(join(import.meta.dirname, 'work-mark.ts'))};
    const mark = new WorkMark(process.argv[2]);
    const die = () => process.kill(process.pid, 'SIGKILL');
    ${code}`,
  );
  await once(fork(program, [path]), 'exit');
  const mark = new WorkMark(path);
  mark.close();
  expect(new WorkMark(path).left).toBeUndefined();
  return mark.left;
}

describe('the work mark', () => {
  it.each([
    ['what was named in this turn', `mark.name('a'); mark.name('bü'); die();`, 'bü'],
    ['a shorter name after a longer one', `mark.name('longer'); mark.name('b'); die();`, 'b'],
    ['nothing once the turn is over', `mark.name('a'); setImmediate(() => setTimeout(die));`, undefined],
    ['nothing after a clean end', `mark.name('a'); mark.close();`, undefined],
    ['nothing after the work', `mark.during('a', () => {}); die();`, undefined],
    ['the inner work', `mark.during('a', () => mark.during('b', die));`, 'b'],
    [
      'the outer work after the inner',
      `mark.during('a', () => { mark.during('b', () => {}); die(); });`,
      'a',
    ],
    ['what a bug ended', `mark.name('a'); mark.freeze(); setTimeout(die, 20);`, 'a'],
    ['what could not be recorded', `mark.name('a'); mark.giveBack(); mark.name('b'); die();`, 'a'],
    ['what threw', `mark.during('a', () => { throw new Error('a bug'); });`, 'a'],
    [
      'nothing after an error that was caught',
      `try { mark.during('a', () => { throw new Error('x'); }); } catch {}
      setImmediate(() => setTimeout(die));`,
      undefined,
    ],
    ['an aborted process', `mark.name('a'); process.abort();`, 'a'],
  ])('names %s', async (_, code, left) => {
    expect(await leftBy(code)).toBe(left);
  });

  it('ignores a name from before the machine started', () => {
    const path = join(dir, 'power-cut');
    writeFileSync(path, Buffer.from([1, 0, 65]));
    const bootedAt = Date.now() / 1000 - uptime();
    utimesSync(path, bootedAt - 60, bootedAt - 60);
    const mark = new WorkMark(path);
    expect(mark.left).toBeUndefined();
    mark.close();
  });

  it('reads an empty file, one with fewer bytes than it says, and one that holds garbage', async () => {
    const path = join(dir, 'damaged');
    for (const [bytes, left] of [
      [[], undefined],
      [[9], undefined],
      [[9, 0, 65], 'A'],
      [[255, 255], undefined],
    ] as const) {
      writeFileSync(path, Buffer.from(bytes));
      const mark = new WorkMark(path);
      expect(mark.left).toBe(left);
      mark.name('x');
      await nextTurn();
      mark.close();
    }
  });
});
