import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { WorkMark } from '@footbridge/runtime/work-mark';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { silentLog } from '@footbridge/testkit/silent-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { inboundName, outboundName, Suspects } from './suspects.ts';
import type { Deaths } from './suspects.ts';

const POISON = inboundName('GUID-1');
const OTHER = outboundName('message m1');

let folder: string;
let clock: FakeClock;
let counts: Map<string, number>;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'suspects-'));
  clock = new FakeClock();
  counts = new Map();
});
afterEach(() => rmSync(folder, { recursive: true }));

const deaths: Deaths = {
  all: () => Array.from(counts, ([name, sum]) => ({ name, deaths: sum })),
  add: (name) => {
    counts.set(name, (counts.get(name) ?? 0) + 1);
    return counts.get(name) ?? 0;
  },
  remove: (name) => void counts.delete(name),
};

function start(memory = deaths) {
  const mark = new WorkMark(join(folder, 'in-work'));
  return { mark, suspects: new Suspects({ mark, deaths: memory, clock, log: silentLog }) };
}

/** Runs a process that dies while it works on a message. */
function dieOf(name = POISON): void {
  const { mark, suspects } = start();
  suspects.workOn(name);
  mark.freeze();
}

describe('a message on which the agent worked when it died', () => {
  it('I10 waits until the agent has run for 10 seconds', async () => {
    dieOf();
    const { suspects } = start();
    expect([suspects.verdict(POISON), suspects.verdict(OTHER)]).toEqual(['waits', 'clear']);
    await clock.advance(10_000);
    expect(suspects.verdict(POISON)).toBe('suspect');
  });

  it('I10 is set aside after the second death, until it is released', async () => {
    dieOf();
    dieOf();
    const { suspects } = start();
    await clock.advance(10_000);
    expect([suspects.isSetAside(POISON), suspects.isSetAside(OTHER)]).toEqual([true, false]);
    suspects.acquit(POISON);
    expect(suspects.isSetAside(POISON)).toBe(true);
    expect(suspects.release(POISON)).toBe(true);
    expect(suspects.verdict(POISON)).toBe('clear');
    expect(suspects.release(POISON)).toBe(false);
    expect(counts.size).toBe(0);
  });

  it('I10 is clear again after it was handled', () => {
    dieOf();
    start().suspects.acquit(POISON);
    dieOf();
    expect(start().suspects.isSetAside(POISON)).toBe(false);
  });

  it('I10 is blamed instead of the message whose handling it interrupted', () => {
    const { mark, suspects } = start();
    suspects.during(OTHER, () => suspects.during(POISON, () => mark.freeze()));
    expect([start().suspects.verdict(POISON), start().suspects.verdict(OTHER)]).toEqual(['waits', 'clear']);
  });

  it('I10 is counted at a later start when the journal cannot be written', () => {
    dieOf();
    const broken: Deaths = {
      ...deaths,
      add: () => {
        throw new Error('the disk is full');
      },
    };
    expect(() => start(broken)).toThrow('full');
    expect(start().suspects.verdict(POISON)).toBe('waits');
  });
});
