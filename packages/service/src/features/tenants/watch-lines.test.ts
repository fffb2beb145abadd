import { createCleanup } from '@footbridge/testkit/cleanup';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { seeded } from '@footbridge/testkit/seeded';
import { silentLog } from '@footbridge/testkit/silent-log';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { createJournal } from '../../relay/journal/journal-sql.ts';
import { openDatabase } from '../../platform/sql/open-database.ts';
import { LineWatch } from './watch-lines.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;
/** A Monday. */
const START = Date.UTC(2026, 8, 7);

/** Texts per hour, by the time since Monday 00:00. */
type Rate = (sinceMonday: number) => number;

const dayOf = (time: number) => Math.floor(time / DAY);
const isOpen = (time: number, days: number) =>
  dayOf(time) < days && time % DAY >= 9 * HOUR && time % DAY < 18 * HOUR;

const LINES: Readonly<Record<string, Rate>> = {
  'busy office': (time) => (isOpen(time, 5) ? 8 : 0),
  'office with quiet evenings': (time) => (isOpen(time, 5) ? 3 : dayOf(time) < 5 ? 0.05 : 0.01),
  'quiet shop': (time) => (isOpen(time, 6) ? 0.3 : 0),
  'restaurant at weekends': (time) => (dayOf(time) >= 4 && time % DAY >= 17 * HOUR ? 4 : 0.02),
  'one text a week': () => 1 / 168,
  'silent line': () => 0,
};
const NAMES = Object.keys(LINES);

interface Passing {
  readonly receives?: (name: string) => boolean;
  readonly sends?: () => boolean;
  readonly each?: () => Promise<void>;
}
const always = () => true;

/** Inbound and outbound texts of every line, from four weeks of history on. */
async function start(seed: number) {
  const random = seeded(seed);
  const clock = new FakeClock(START);
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  cleanup.add(() => database.close());
  const journal = createJournal({ database, clock, log: silentLog, handleKeys: [Buffer.alloc(32, 1)] });
  cleanup.add(() => journal.close());
  const watch = new LineWatch({ journal, now: () => clock.now() });
  let count = 0;
  const record = (locationId: string, direction: 'inbound' | 'outbound') => {
    const id = `m${count++}`;
    journal.open(
      { id, direction, locationId, messageId: id, kind: 'text', handle: null, contactId: null, length: 1 },
      'accepted',
      { state: 'delivered' },
    );
  };
  const connected = NAMES.map((locationId) => ({ locationId, lastReceivedAt: null }));
  const silentLines = async () => {
    await watch.check(connected);
    return NAMES.filter((name) => watch.of(name).silent !== null);
  };
  /** Lets time pass in steps of a quarter of an hour. */
  const pass = async (ms: number, { receives = always, sends = always, each }: Passing = {}) => {
    const step = HOUR / 4;
    for (let passed = 0; passed < ms; passed += step) {
      const sinceMonday = (clock.now() - START) % WEEK;
      for (const [name, rate] of Object.entries(LINES)) {
        const perStep = rate(sinceMonday) / 4;
        if (random() < 1 - Math.exp(-perStep) && receives(name)) record(name, 'inbound');
        // The business texts at any time, even when no one replies.
        if (random() < 0.3 && sends()) record(name, 'outbound');
      }
      await clock.advance(step);
      await each?.();
    }
  };
  return { clock, journal, watch, pass, silentLines };
}

describe('silence of a line', () => {
  it.each([1, 6, 7])('is never reported in two quiet weeks with nights and weekends (%i)', async (seed) => {
    const { pass, silentLines } = await start(seed);
    const alarms: string[] = [];
    await pass(4 * WEEK);
    await pass(2 * WEEK, { each: async () => void alarms.push(...(await silentLines())) });
    expect(alarms).toEqual([]);
  });

  it('is never reported while a line is new', async () => {
    const { pass, silentLines } = await start(2);
    const alarms: string[] = [];
    await pass(2 * WEEK, { each: async () => void alarms.push(...(await silentLines())) });
    await pass(12 * HOUR, {
      receives: () => false,
      each: async () => void alarms.push(...(await silentLines())),
    });
    expect(alarms).toEqual([]);
  });

  it('of a busy office is reported within a working day, even by a node that has just started', async () => {
    const { clock, watch, pass, silentLines } = await start(3);
    await pass(5 * WEEK);
    await pass(8 * HOUR);
    expect(await silentLines()).toEqual([]);
    await pass(10 * HOUR, { receives: (name) => name !== 'busy office' });
    expect(await silentLines()).toEqual(['busy office']);
    const { silent } = watch.of('busy office');
    expect(clock.now() - (silent?.since ?? 0)).toBeGreaterThan(2 * DAY);
    expect(silent?.sent).toBeGreaterThan(3);
  });

  it('is not reported on a holiday, on which nothing is sent either', async () => {
    const { pass, silentLines } = await start(5);
    await pass(5 * WEEK);
    await pass(18 * HOUR, { receives: () => false, sends: () => false });
    expect(await silentLines()).toEqual([]);
  });

  it('is judged by the whole history of a line whose Mac was away', async () => {
    const { watch, pass, silentLines } = await start(8);
    await silentLines();
    await watch.check([]);
    await pass(5 * WEEK);
    await pass(18 * HOUR, { receives: (name) => name !== 'busy office' });
    expect(await silentLines()).toEqual(['busy office']);
  });

  it('ends with the next text, even one that only the Mac knows of', async () => {
    const { clock, watch, pass } = await start(4);
    await pass(5 * WEEK + 18 * HOUR, { receives: () => clock.now() < START + 5 * WEEK });
    const check = async (lastReceivedAt: number | null) => {
      await watch.check([{ locationId: 'busy office', lastReceivedAt }]);
      return watch.of('busy office').silent;
    };
    expect(await check(null)).not.toBeNull();
    expect(await check(clock.now())).toBeNull();
  });

  it('takes into account texts that the journal could not write for five minutes', async () => {
    const { clock, journal, silentLines } = await start(9);
    const read = vi.spyOn(journal, 'lastInbound');
    await silentLines();
    const first = clock.now();
    await clock.advance(60_000);
    await silentLines();
    expect(read.mock.calls).toEqual([[first - 300_000]]);
  });
});
