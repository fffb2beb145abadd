import { FakeClock } from '@footbridge/testkit/fake-clock';
import { sendFrame } from '@footbridge/testkit/send-frame';
import { describe, expect, it } from 'vitest';

import { SendLedger } from '../switchboard/send-ledger.ts';
import type { LedgerEntry } from '../switchboard/send-ledger.ts';
import { BATCH, PAUSE_MS } from './backlog.ts';
import { UnconfirmedSends } from './unconfirmed-sends.ts';

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
