import { describe, expect, it } from 'vitest';

import { Progress } from './progress.ts';

const state = {
  round: 0,
  rounds: 2,
  messages: 500,
  allMessages: 1000,
  faults: 3,
  allFaults: 9,
  violations: 0,
};
const LINE = 'round 1/2, 500/1000 messages, 3/9 faults, 0 violations';

function shown(isTTY: boolean, times: readonly number[]): string[] {
  const written: string[] = [];
  let now = 0;
  const progress = new Progress({ isTTY, write: (text) => written.push(text) }, () => now);
  for (const time of times) {
    now = time;
    progress.show(state);
  }
  progress.end();
  return written;
}

describe('the progress of a campaign', () => {
  it('is a bar on a terminal, at most five times a second, and is removed at the end', () => {
    expect(shown(true, [1000, 1100, 1250])).toEqual([
      `\r\u001B[K[${'#'.repeat(15)}${'.'.repeat(15)}] ${LINE}, 1 s`,
      `\r\u001B[K[${'#'.repeat(15)}${'.'.repeat(15)}] ${LINE}, 1 s`,
      '\r\u001B[K',
    ]);
  });

  it('goes on while nothing changes', () => {
    const written: string[] = [];
    let now = 0;
    const progress = new Progress({ write: (text) => written.push(text) }, () => now);
    progress.refresh();
    progress.show(state);
    now = 12_000;
    progress.refresh();
    expect(written).toEqual([`${LINE}, 0 s\n`, `${LINE}, 12 s\n`]);
  });

  it('is a line every ten seconds elsewhere', () => {
    expect(shown(false, [0, 9999, 10_000, 15_000, 21_000])).toEqual([
      `${LINE}, 0 s\n`,
      `${LINE}, 10 s\n`,
      `${LINE}, 21 s\n`,
    ]);
  });
});
