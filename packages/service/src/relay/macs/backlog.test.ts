import { FakeClock } from '@footbridge/testkit/fake-clock';
import { sendFrame } from '@footbridge/testkit/send-frame';
import { describe, expect, it } from 'vitest';

import { SendLedger } from '../switchboard/send-ledger.ts';
import type { LedgerEntry } from '../switchboard/send-ledger.ts';
import { Backlog, BATCH, MAX_UNSENT_BYTES, PAUSE_MS } from './backlog.ts';

function setUp(count: number) {
  const clock = new FakeClock();
  const ledger = new SendLedger({ clock, onDrop: () => undefined });
  const mac = ledger.open('loc1', 'device-1');
  for (let index = 0; index < count; index++)
    ledger.add(mac, sendFrame({ requestId: `request-${index}` }), 10);
  const entries = [...mac.entries];
  const target = {
    unsent: 0,
    written: [] as string[],
    onWrite: () => {},
    writeAgain({ frame }: LedgerEntry) {
      target.written.push(frame.requestId);
      target.onWrite();
    },
  };
  const ends: number[] = [];
  const backlog = new Backlog(target, clock, () => ends.push(clock.monotonic()));
  return { clock, ledger, mac, entries, target, ends, backlog };
}

const idsOf = (entries: readonly LedgerEntry[]) => entries.map(({ frame }) => frame.requestId);

describe('the backlog of a Mac', () => {
  it('M10 a backlog waits for its first frames, writes all in order, and ends', async () => {
    const { backlog, target, entries, ends } = setUp(3);
    backlog.write();
    expect([target.written, ends, backlog.isStarted]).toEqual([[], [], false]);
    backlog.add(entries);
    expect([target.written, ends]).toEqual([idsOf(entries), [0]]);
    await backlog.ended;
  });

  it('M10 ends at once when there is nothing to write', async () => {
    const { backlog, target, ends } = setUp(0);
    backlog.add([]);
    expect([target.written, ends]).toEqual([[], [0]]);
    await backlog.ended;
  });

  it('T52 writes batches, each after a pause', async () => {
    const { backlog, target, entries, ends, clock } = setUp(2 * BATCH + 1);
    backlog.add(entries);
    expect(target.written).toHaveLength(BATCH);
    await clock.advance(PAUSE_MS - 1);
    expect(target.written).toHaveLength(BATCH);
    await clock.advance(1);
    expect(target.written).toHaveLength(2 * BATCH);
    await clock.advance(PAUSE_MS);
    expect([target.written, ends]).toEqual([idsOf(entries), [2 * PAUSE_MS]]);
  });

  it('T52 leaves out frames that were confirmed in the meantime, and the next batch need not wait', async () => {
    const { backlog, target, entries, ledger, mac, ends, clock } = setUp(BATCH + 3);
    backlog.add(entries);
    ledger.confirm(mac, `request-${BATCH}`);
    backlog.write();
    expect(target.written.slice(BATCH)).toEqual([`request-${BATCH + 1}`, `request-${BATCH + 2}`]);
    await clock.advance(10 * PAUSE_MS);
    expect([target.written.length, ends]).toEqual([BATCH + 2, [0]]);
  });

  it('T52 writes nothing while the Mac does not read', async () => {
    const { backlog, target, entries, clock } = setUp(2);
    target.unsent = MAX_UNSENT_BYTES;
    backlog.add(entries);
    await clock.advance(10 * PAUSE_MS);
    expect(target.written).toEqual([]);
    target.unsent = MAX_UNSENT_BYTES - 1;
    await clock.advance(PAUSE_MS);
    expect(target.written).toEqual(idsOf(entries));
  });

  it('M10 writes frames that are added later behind the others', async () => {
    const { backlog, target, entries, clock } = setUp(BATCH + 2);
    backlog.add(entries.slice(0, BATCH + 1));
    backlog.add(entries.slice(BATCH + 1));
    await clock.advance(PAUSE_MS);
    expect(target.written).toEqual(idsOf(entries));
  });

  it('M10 writes nothing after it was ended, also in the middle of a batch, and ends once', async () => {
    const { backlog, target, entries, ends, clock } = setUp(BATCH + 1);
    target.onWrite = () => {
      if (target.written.length === 2) backlog.end();
    };
    backlog.add(entries);
    backlog.end();
    backlog.write();
    await clock.advance(10 * PAUSE_MS);
    expect([target.written.length, ends]).toEqual([2, [0]]);
    await backlog.ended;
  });
});
