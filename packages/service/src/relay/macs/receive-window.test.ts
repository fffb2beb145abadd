import { expect, it, describe } from 'vitest';

import {
  readMacFrame,
  ExtraFrames,
  MAX_EXTRA,
  FrameMemory,
  ReceiveWindow,
  WINDOW,
} from './receive-window.ts';

const read = (text: string) => readMacFrame(Buffer.from(text), text);
const names = (count: number) => Array.from({ length: count }, (_, index) => `"n${index}":0`).join(',');

it('a frame of a known type is parsed', () => {
  expect(read('{"type":"received","requestId":"r"}')).toMatchObject({ kind: 'frame' });
  expect(read(` {"type":"received","requestId":"r",${names(100)}}`)).toMatchObject({ kind: 'frame' });
});

it.each(['', ' ', '\r\n\t'])(
  'T54 an object with thousands of names is not parsed, after %j either',
  (space) => {
    expect(read(`${space}{"type":"received","requestId":"r",${names(5000)}}`).kind).toBe('unknown');
  },
);

it('T54 thousands of lists are not parsed', () => {
  expect(read(' ['.repeat(5000)).kind).toBe('invalid');
});

describe('frames outside the window', () => {
  it('T52 extra frames are limited in number between two heartbeats', () => {
    const extra = new ExtraFrames();
    const addAll = () => Array.from({ length: MAX_EXTRA.frames }, () => extra.add(0));
    expect(addAll()).not.toContain(false);
    expect(extra.add(0)).toBe(false);
    extra.reset();
    expect(addAll()).not.toContain(false);
  });

  it('T52 extra frames are limited in bytes between two heartbeats', () => {
    const extra = new ExtraFrames();
    expect([extra.add(MAX_EXTRA.bytes), extra.add(0), extra.add(1)]).toEqual([true, true, false]);
    extra.reset();
    expect(extra.add(MAX_EXTRA.bytes)).toBe(true);
  });
});

const memoryOf = (perSession: number) => new FrameMemory({ perSession, total: 10_000 });

describe('the window of a Mac', () => {
  it('M1 holds at most 64 frames, and an acknowledgement makes room for the next one', () => {
    const window = new ReceiveWindow(memoryOf(1000), 'lic_1');
    const taken = Array.from({ length: WINDOW + 1 }, () => window.take(10));
    expect([taken.slice(0, WINDOW).every((each) => each === 'taken'), taken.at(-1)]).toEqual([
      true,
      'exceeded',
    ]);
    expect(window.mustResend).toBe(false);
    window.acknowledged();
    expect(window.take(10)).toBe('taken');
  });

  it('T53 leaves out a frame that finds no memory, and I5 all later ones', () => {
    const window = new ReceiveWindow(memoryOf(100), 'lic_1');
    expect([window.take(90), window.take(20), window.mustResend]).toEqual(['taken', 'left_out', true]);
    window.acknowledged();
    window.release(90);
    expect(window.take(1)).toBe('left_out');
  });

  it('T53 gives the memory back', () => {
    const memory = memoryOf(100);
    const window = new ReceiveWindow(memory, 'lic_1');
    for (let count = 0; count < 1000; count++) {
      expect(window.take(60)).toBe('taken');
      window.acknowledged();
      window.release(60);
    }
    expect(window.isEmpty).toBe(true);
    expect(new ReceiveWindow(memory, 'lic_1').take(100)).toBe('taken');
  });

  it('I5 accepts no frame after one that was not delivered, and remains occupied by it', () => {
    const window = new ReceiveWindow(memoryOf(100), 'lic_1');
    window.take(10);
    window.notDelivered();
    window.release(10);
    expect([window.take(10), window.mustResend, window.isEmpty]).toEqual(['left_out', true, false]);
  });
});
