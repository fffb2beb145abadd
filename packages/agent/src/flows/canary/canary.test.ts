import { createLog } from '@footbridge/runtime/log';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { describe, expect, it } from 'vitest';

import { StoreUnavailableError } from '../../ports/messages/messages.ts';
import type { StoredRow } from '../../ports/messages/messages.ts';
import { Canary } from './canary.ts';
import type { Outcome } from '../../outcome.ts';

const MINUTE = 60_000;
const INTERVAL = 30 * MINUTE;
const OWN = '+15550100000';

/** Starts a canary whose Messages behaves as `line` says. Tests change `line` while it runs. */
function start(saved?: string, clock = new FakeClock()) {
  const line = {
    receipts: true,
    /** Whether Messages also receives the sent text. */
    returns: false,
    send: (): Outcome | Promise<Outcome> => ({ state: 'delivered', guid: `guid-${sent.length}` }),
    /** Resolves when no other send is in progress. */
    turn: Promise.resolve(),
    isConnected: true,
    isReadable: true,
    handles: ['me@example.com', OWN],
    note: saved,
  };
  const sent: { readonly at: number; readonly handle: string; readonly text: string }[] = [];
  const readable = <T>(value: T): T => {
    if (!line.isReadable) throw new StoreUnavailableError('locked');
    return value;
  };
  const canary = new Canary({
    settings: { intervalMs: INTERVAL, quietHours: { from: 22 * 60, until: 7 * 60, timeZone: 'UTC' } },
    store: {
      ownHandles: () => readable(line.handles),
      newestRowid: () => readable(sent.length),
      rowsAfter: (rowid) =>
        readable(
          line.returns ? sent.slice(rowid).map(({ text }) => ({ fromMe: false, text }) as StoredRow) : [],
        ),
      sendState: (guid) => readable({ guid, finished: true, sent: true, delivered: line.receipts, error: 0 }),
    },
    async send(handle, text, begin) {
      await line.turn;
      begin();
      sent.push({ at: clock.now(), handle, text });
      return await line.send();
    },
    memory: { load: () => line.note, save: (value) => void (line.note = value) },
    isConnected: () => line.isConnected,
    clock,
    log: createLog('silent'),
  });
  const stop = canary.start();
  return { canary, line, sent, clock, stop };
}

const noon = () => new FakeClock(Date.parse('2026-11-15T12:00:00Z'));

describe('canaries', () => {
  it('are sent to the own number of the line, a minute after the start and then once per interval', async () => {
    const { canary, sent, clock } = start(undefined, noon());
    await clock.advance(MINUTE - 1);
    expect(sent).toEqual([]);
    await clock.advance(2 * INTERVAL + 10_000);
    expect(sent.map(({ handle }) => handle)).toEqual([OWN, OWN, OWN]);
    expect(new Set(sent.map(({ text }) => text)).size).toBe(3);
    expect(canary.state()).toEqual({ lastOkAt: expect.stringMatching(/T13:01/) });
  });

  it.each<[how: string, send: () => Outcome | Promise<Outcome>, code: string | undefined]>([
    ['get no receipt', () => ({ state: 'delivered', guid: 'lost' }), 'NO_RECEIPT'],
    ['fail', () => ({ state: 'failed', code: 'IMESSAGE_ERROR', message: '' }), 'IMESSAGE_ERROR'],
    ['have an unknown outcome', () => ({ state: 'unknown', code: 'TIMEOUT', message: '' }), 'TIMEOUT'],
    ['hang', () => new Promise(() => {}), undefined],
  ])('that %s are reported 4 to 5 minutes after the first one', async (_how, send, code) => {
    const { canary, line, sent, clock } = start(undefined, noon());
    await clock.advance(2 * MINUTE);
    Object.assign(line, { send, receipts: false });
    await clock.advance(INTERVAL);
    const [, failed] = sent;
    await clock.advance((failed?.at ?? 0) + 4 * MINUTE - 2000 - clock.now());
    expect(canary.state()).toEqual({ lastOkAt: expect.any(String) });
    await clock.advance(10_000);
    expect(canary.state()).toEqual({
      lastOkAt: expect.any(String),
      failedSince: new Date(failed?.at ?? 0).toISOString(),
      ...(code !== undefined && { code }),
    });
  });

  it('are sent every 15 minutes while they fail, and the first one that arrives clears the failure', async () => {
    const { canary, line, sent, clock } = start(undefined, noon());
    line.receipts = false;
    await clock.advance(3 * 60 * MINUTE);
    expect(canary.state()).toMatchObject({ lastOkAt: null, failedSince: expect.any(String) });
    expect(sent.length).toBeGreaterThan(8);
    expect(sent.length).toBeLessThan(15);
    line.receipts = true;
    await clock.advance(4000);
    expect(canary.state()).toEqual({ lastOkAt: expect.any(String) });
  });

  it('are confirmed by an incoming copy or by a late receipt', async () => {
    const { canary, line, sent, clock } = start(undefined, noon());
    Object.assign(line, { receipts: false, returns: true });
    await clock.advance(2 * MINUTE);
    expect(canary.state()).toEqual({ lastOkAt: expect.any(String) });
    expect(canary.isCanary({ text: sent[0]?.text ?? '' })).toBe(true);
    expect(canary.isCanary({ text: 'Footbridge line check 00000000' })).toBe(false);
    line.returns = false;
    await clock.advance(INTERVAL);
    expect(sent).toHaveLength(2);
    line.receipts = true;
    await clock.advance(INTERVAL - 2 * MINUTE);
    expect(sent).toHaveLength(2);
  });

  it('do not count as failed when the Mac slept, lost the network or cannot read its store', async () => {
    const { canary, line, clock } = start(undefined, noon());
    await clock.advance(2 * MINUTE);
    line.receipts = false;
    await clock.advance(INTERVAL);
    clock.advanceWallClock(5 * INTERVAL);
    await clock.advance(10_000);
    line.isConnected = false;
    await clock.advance(10 * MINUTE);
    expect(canary.state()).toEqual({ lastOkAt: expect.any(String) });
    line.isReadable = false;
    line.isConnected = true;
    await clock.advance(INTERVAL);
    expect(canary.state()).toEqual({ lastOkAt: expect.any(String) });
  });

  it('are not sent without a connection, without a known own number, or in quiet hours', async () => {
    const { line, sent, clock } = start(undefined, new FakeClock(Date.parse('2026-11-15T23:00:00Z')));
    await clock.advance(8 * 60 * MINUTE - 1000);
    expect(sent).toEqual([]);
    line.handles = [];
    await clock.advance(INTERVAL);
    line.handles = ['me@example.com'];
    line.isConnected = false;
    await clock.advance(INTERVAL);
    expect(sent).toEqual([]);
    line.isConnected = true;
    await clock.advance(2000);
    expect(sent.map(({ handle }) => handle)).toEqual(['me@example.com']);
  });

  it('are not sent in a burst after restarts, and a failing line still fails after a restart', async () => {
    const clock = noon();
    let { line, sent, stop, canary } = start(undefined, clock);
    await clock.advance(2 * MINUTE);
    let total = sent.length;
    for (let restart = 0; restart < 5; restart++) {
      stop();
      ({ line, sent, stop, canary } = start(line.note, clock));
      await clock.advance(2 * MINUTE);
      total += sent.length;
    }
    expect(total).toBe(1);
    line.receipts = false;
    await clock.advance(INTERVAL);
    const failing = canary.state();
    expect(failing.failedSince).toBeDefined();
    stop();
    expect(start(line.note, clock).canary.state()).toEqual(failing);
  });

  it('are dropped when the agent stops while they wait for another send', async () => {
    const { line, sent, clock, stop } = start(undefined, noon());
    const { promise, resolve } = Promise.withResolvers<void>();
    line.turn = promise;
    await clock.advance(2 * MINUTE);
    stop();
    resolve();
    await clock.advance(2 * MINUTE);
    expect(sent).toEqual([]);
  });

  it('continue after an unreadable note, and after the clock was set back', async () => {
    const { sent, clock } = start('not JSON', noon());
    await clock.advance(2 * MINUTE);
    clock.advanceWallClock(-2 * 60 * MINUTE);
    await clock.advance(INTERVAL);
    expect(sent.length).toBeGreaterThanOrEqual(2);
  });
});
