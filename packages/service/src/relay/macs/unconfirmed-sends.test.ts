import { FakeClock } from '@footbridge/testkit/fake-clock';
import { sendFrame } from '@footbridge/testkit/send-frame';
import { describe, expect, it } from 'vitest';

import { SendLedger } from '../switchboard/send-ledger.ts';
import type { LedgerEntry } from '../switchboard/send-ledger.ts';
import { Backlog, BATCH, MAX_UNSENT_BYTES, PAUSE_MS, UnconfirmedSends } from './unconfirmed-sends.ts';

function backlogOf(count: number) {
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
    const { backlog, target, entries, ends } = backlogOf(3);
    backlog.write();
    expect([target.written, ends, backlog.isStarted]).toEqual([[], [], false]);
    backlog.add(entries);
    expect([target.written, ends]).toEqual([idsOf(entries), [0]]);
    await backlog.ended;
  });

  it('M10 ends at once when there is nothing to write', async () => {
    const { backlog, target, ends } = backlogOf(0);
    backlog.add([]);
    expect([target.written, ends]).toEqual([[], [0]]);
    await backlog.ended;
  });

  it('T52 writes batches, each after a pause', async () => {
    const { backlog, target, entries, ends, clock } = backlogOf(2 * BATCH + 1);
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
    const { backlog, target, entries, ledger, mac, ends, clock } = backlogOf(BATCH + 3);
    backlog.add(entries);
    ledger.confirm(mac, `request-${BATCH}`);
    backlog.write();
    expect(target.written.slice(BATCH)).toEqual([`request-${BATCH + 1}`, `request-${BATCH + 2}`]);
    await clock.advance(10 * PAUSE_MS);
    expect([target.written.length, ends]).toEqual([BATCH + 2, [0]]);
  });

  it('T52 writes nothing while the Mac does not read', async () => {
    const { backlog, target, entries, clock } = backlogOf(2);
    target.unsent = MAX_UNSENT_BYTES;
    backlog.add(entries);
    await clock.advance(10 * PAUSE_MS);
    expect(target.written).toEqual([]);
    target.unsent = MAX_UNSENT_BYTES - 1;
    await clock.advance(PAUSE_MS);
    expect(target.written).toEqual(idsOf(entries));
  });

  it('M10 writes frames that are added later behind the others', async () => {
    const { backlog, target, entries, clock } = backlogOf(BATCH + 2);
    backlog.add(entries.slice(0, BATCH + 1));
    backlog.add(entries.slice(BATCH + 1));
    await clock.advance(PAUSE_MS);
    expect(target.written).toEqual(idsOf(entries));
  });

  it('M10 writes nothing after it was ended, also in the middle of a batch, and ends once', async () => {
    const { backlog, target, entries, ends, clock } = backlogOf(BATCH + 1);
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

function setUp() {
  const clock = new FakeClock();
  const dropped: string[] = [];
  const ledger = new SendLedger({ clock, onDrop: (requestId) => void dropped.push(requestId) });
  const connect = () => {
    const written: string[] = [];
    const writeAgain = ({ frame: { requestId } }: LedgerEntry) => void written.push(requestId);
    const sends = new UnconfirmedSends({ unsent: 0, writeAgain }, ledger.open('loc1', 'device-1'), {
      ledger,
      clock,
    });
    return { sends, written };
  };
  return { clock, ledger, dropped, connect };
}

const frame = (requestId: string) => sendFrame({ requestId });
const handed = (requestId: string) => ({ frame: frame(requestId), bytes: 10, ageMs: 0 });

describe('the unconfirmed frames of a connected Mac', () => {
  it('M10 frames are written again in order when the Mac is back, before any newer one', async () => {
    const { connect } = setUp();
    const first = connect();
    first.sends.resume();
    expect([first.sends.isEmpty, first.sends.ready]).toEqual([true, undefined]);
    for (const id of ['a', 'b', 'c']) first.sends.add(frame(id), 10);
    expect(first.sends.confirm('b')).toBe(true);
    first.sends.close();
    const second = connect();
    const { ready } = second.sends;
    expect([second.written, second.sends.isEmpty]).toEqual([[], false]);
    second.sends.resume();
    await ready;
    expect([second.written, second.sends.ready]).toEqual([['a', 'c'], undefined]);
  });

  it('M10 frames are confirmed once each', () => {
    const { connect } = setUp();
    const { sends } = connect();
    sends.resume();
    sends.add(frame('a'), 10);
    expect(['a', 'a', 'never sent'].map((id) => sends.confirm(id))).toEqual([true, false, false]);
    expect(sends.isEmpty).toBe(true);
  });

  it('T52 a confirmation starts the next batch', () => {
    const { connect } = setUp();
    const first = connect();
    for (let index = 0; index <= BATCH; index++) first.sends.add(frame(`request-${index}`), 10);
    first.sends.close();
    const { sends, written } = connect();
    sends.resume();
    expect(written).toHaveLength(BATCH);
    sends.confirm('request-0');
    expect([written.length, sends.ready]).toEqual([BATCH + 1, undefined]);
  });

  it('M10 frames that arrive from another node before the Mac may get any are written once', async () => {
    const { connect, ledger } = setUp();
    const { sends, written } = connect();
    sends.repeat(ledger.adopt('loc1', 'device-1', [handed('a'), handed('b')]));
    expect(written).toEqual([]);
    sends.resume();
    expect(written).toEqual(['a', 'b']);
  });

  it('M10 frames that arrive late from another node make newer frames wait', async () => {
    const { connect, ledger, clock } = setUp();
    const { sends, written } = connect();
    sends.resume();
    const late = Array.from({ length: BATCH + 1 }, (_, index) => handed(`request-${index}`));
    sends.repeat([]);
    expect(sends.ready).toBeUndefined();
    sends.repeat(ledger.adopt('loc1', 'device-1', late));
    expect([written.length, sends.ready]).toEqual([BATCH, expect.any(Promise)]);
    await clock.advance(PAUSE_MS);
    expect([written.length, sends.ready]).toEqual([BATCH + 1, undefined]);
  });

  it('M10 frames are kept for the next connection when the Mac leaves, and `ready` resolves', async () => {
    const { connect, clock, dropped } = setUp();
    const { sends, written } = connect();
    sends.add(frame('a'), 10);
    const { ready } = sends;
    sends.close();
    await ready;
    sends.resume();
    await clock.advance(PAUSE_MS);
    expect([written, dropped, connect().sends.isEmpty]).toEqual([[], [], false]);
  });

  it('M8 frames are given up when a Mac of another license binds the location', () => {
    const { connect, dropped } = setUp();
    const first = connect();
    first.sends.bound('lic_1');
    first.sends.add(frame('a'), 10);
    first.sends.close();
    const second = connect();
    second.sends.bound('lic_2');
    second.sends.resume();
    expect([second.written, dropped]).toEqual([[], ['a']]);
  });
});
