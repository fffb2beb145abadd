import type { SendFrame } from '@footbridge/protocol/frames';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { describe, expect, it } from 'vitest';

import { requestIdsOf, SendLedger } from './send-ledger.ts';
import type { MacLedger } from './send-ledger.ts';

const LIMITS = { maxFrames: 4, maxBytes: 1000, maxTotalBytes: 1500, maxAgeMs: 60_000 };

function setUp() {
  const clock = new FakeClock();
  const dropped: string[] = [];
  const onDrop = (requestId: string, reason: string) => void dropped.push(`${reason} ${requestId}`);
  return { clock, dropped, ledger: new SendLedger({ clock, limits: LIMITS, onDrop }) };
}

const frame = (requestId: string): SendFrame => ({
  type: 'send',
  requestId,
  messageId: null,
  contactId: 'c',
  phone: '+15555550100',
  message: 'Hi',
  attachments: [],
  channel: 'imessage',
});
const idsOf = (mac: MacLedger) => mac.entries.map(({ frame: { requestId } }) => requestId);
const handed = (requestId: string, ageMs = 0) => ({ frame: frame(requestId), bytes: 10, ageMs });

describe('the ledger of unconfirmed frames', () => {
  it('M10 keeps frames in order until they are confirmed, each once', () => {
    const { ledger, dropped } = setUp();
    const mac = ledger.open('loc1', 'device-1');
    for (const id of ['a', 'b', 'c']) ledger.add(mac, frame(id), 10);
    expect(ledger.confirm(mac, 'b')).toBe(true);
    expect(ledger.confirm(mac, 'b')).toBe(false);
    expect(ledger.confirm(mac, 'never sent')).toBe(false);
    expect(idsOf(mac)).toEqual(['a', 'c']);
    expect([ledger.size, dropped]).toEqual([2, []]);
  });

  it('M10 belongs to a device at a location, and outlives its connections', () => {
    const { ledger } = setUp();
    const mac = ledger.open('loc1', 'device-1');
    ledger.add(mac, frame('a'), 10);
    ledger.close(mac);
    expect(idsOf(ledger.open('loc1', 'device-2'))).toEqual([]);
    expect(idsOf(ledger.open('loc2', 'device-1'))).toEqual([]);
    expect(ledger.confirm(ledger.open('loc1', 'device-2'), 'a')).toBe(false);
    expect(idsOf(ledger.open('loc1', 'device-1'))).toEqual(['a']);
  });

  it('M8 gives up the frames of a device of another license, also those that arrive from other nodes', () => {
    const { ledger, dropped } = setUp();
    const theirs = ledger.open('loc1', 'device-1');
    ledger.bound(theirs, 'lic_1');
    ledger.add(theirs, frame('a'), 10);
    const frames = ledger.handOver('loc1', 'device-1');
    // It registers, and is rejected.
    ledger.close(ledger.open('loc1', 'device-1'));
    expect(idsOf(theirs)).toEqual(['a']);
    const ours = ledger.open('loc1', 'device-1');
    ledger.bound(ours, 'lic_2');
    ledger.add(ours, frame('b'), 10);
    ledger.adopt('loc1', 'device-1', [...frames, handed('of an earlier version')]);
    expect(idsOf(ours)).toEqual(['of an earlier version', 'b']);
    expect(dropped).toEqual(['moved a', 'moved a']);
  });

  it('M10 gives up the oldest frames of a Mac beyond 512 frames or 8 MB', () => {
    const { ledger, dropped } = setUp();
    const many = ledger.open('loc1', 'device-1');
    for (const id of ['a', 'b', 'c', 'd', 'e']) ledger.add(many, frame(id), 10);
    const large = ledger.open('loc2', 'device-2');
    for (const id of ['f', 'g', 'h']) ledger.add(large, frame(id), 400);
    expect(idsOf(many)).toEqual(['b', 'c', 'd', 'e']);
    expect(idsOf(large)).toEqual(['g', 'h']);
    expect(dropped).toEqual(['full a', 'full f']);
  });

  it('M10 bounds the frames of all Macs together, at the cost of the Mac that has the most', () => {
    const { ledger, dropped } = setUp();
    ledger.add(ledger.open('loc1', 'small'), frame('old but small'), 300);
    const large = ledger.open('loc2', 'large');
    for (const id of ['a', 'b']) ledger.add(large, frame(id), 400);
    ledger.add(ledger.open('loc3', 'other'), frame('c'), 500);
    expect(dropped).toEqual(['full a']);
    expect([ledger.size, idsOf(large)]).toEqual([3, ['b']]);
  });

  it('M10 gives up frames after ten minutes, also those of another node', async () => {
    const { ledger, clock, dropped } = setUp();
    const mac = ledger.open('loc1', 'device-1');
    ledger.add(mac, frame('a'), 10);
    await clock.advance(30_000);
    ledger.add(mac, frame('b'), 10);
    ledger.adopt('loc1', 'device-1', [handed('from another node', 50_000)]);
    await clock.advance(15_000);
    ledger.expire();
    expect(dropped).toEqual(['expired from another node']);
    await clock.advance(15_000);
    ledger.expire();
    expect(dropped).toEqual(['expired from another node', 'expired a']);
    expect(idsOf(mac)).toEqual(['b']);
  });

  it('M10 puts the frames of another node before those that were added since, each once', () => {
    const { ledger } = setUp();
    const mac = ledger.open('loc1', 'device-1');
    ledger.add(mac, frame('new'), 10);
    ledger.adopt('loc1', 'device-1', [handed('old 1'), handed('old 2'), handed('new')]);
    expect(idsOf(mac)).toEqual(['old 1', 'old 2', 'new']);
    expect(ledger.confirm(mac, 'new')).toBe(true);
    expect(ledger.handOver('loc1', 'device-1').map(({ frame: { requestId } }) => requestId)).toEqual([
      'old 1',
      'old 2',
    ]);
    ledger.forget('loc1', 'device-1', ['old 1', 'old 2']);
    expect([ledger.size, ledger.hasUnconfirmed('loc1', 'device-1'), mac.bytes]).toEqual([0, false, 0]);
  });

  it('M10 takes a frame once when several nodes hand it over', () => {
    const { ledger } = setUp();
    const mac = ledger.open('loc1', 'device-1');
    ledger.adopt('loc1', 'device-1', [handed('a'), handed('b'), handed('a'), handed('b')]);
    expect([idsOf(mac), ledger.size, mac.bytes]).toEqual([['a', 'b'], 2, 20]);
  });

  it('M10 knows the Macs whose frames need copies, and which copies are confirmed', async () => {
    const { ledger, clock } = setUp();
    const [slow, quick] = [ledger.open('loc1', 'slow'), ledger.open('loc2', 'quick')];
    ledger.add(slow, frame('a'), 10);
    ledger.add(quick, frame('b'), 10);
    await clock.advance(200);
    ledger.add(quick, frame('c'), 10);
    ledger.confirm(quick, 'b');
    expect([...ledger.macsWithoutCopies(200)]).toEqual([slow]);
    for (const entry of slow.entries.values()) ledger.setCopied(entry, true);
    expect([[...ledger.macsWithoutCopies(200)], slow.copied, quick.copied]).toEqual([[], 1, 0]);
    ledger.confirm(slow, 'a');
    ledger.confirm(quick, 'c');
    expect(ledger.takeConfirmedCopies().map(({ frame: { requestId } }) => requestId)).toEqual(['a']);
    expect([ledger.takeConfirmedCopies(), slow.copied]).toEqual([[], 0]);
  });

  it('M10 makes no copies of frames that another node is taking', async () => {
    const { ledger, clock } = setUp();
    const mac = ledger.open('loc1', 'device-1');
    ledger.add(mac, frame('a'), 10);
    await clock.advance(200);
    expect(ledger.handOver('loc1', 'device-1').map(({ isCopied }) => isCopied)).toEqual([undefined]);
    expect([...ledger.macsWithoutCopies(200)]).toEqual([]);
    ledger.forget('loc1', 'device-1', ['a']);
    expect(ledger.takeConfirmedCopies()).toEqual([]);
  });

  it('M10 keeps frames that were added since another node took the others', () => {
    const { ledger } = setUp();
    const mac = ledger.open('loc1', 'device-1');
    ledger.add(mac, frame('old'), 10);
    const taken = requestIdsOf(ledger.handOver('loc1', 'device-1'));
    ledger.add(mac, frame('new'), 10);
    ledger.forget('loc1', 'device-1', taken);
    expect(idsOf(mac)).toEqual(['new']);
  });

  it('M10 keeps nothing about Macs that are gone and owe nothing', () => {
    const { ledger } = setUp();
    const mac = ledger.open('loc1', 'device-1');
    ledger.add(mac, frame('a'), 10);
    ledger.close(mac);
    expect([...ledger.devices()]).toEqual([{ locationId: 'loc1', deviceId: 'device-1' }]);
    ledger.shutDown();
    expect([...ledger.devices()]).toEqual([]);
    expect(ledger.open('loc1', 'device-1')).not.toBe(mac);
  });
});
