import { describe, expect, it } from 'vitest';

import { FrameMemory } from './frame-memory.ts';
import { ReceiveWindow, WINDOW } from './receive-window.ts';

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
