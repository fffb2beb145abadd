import { describe, expect, it } from 'vitest';

import { ExtraFrames, MAX_EXTRA } from './extra-frames.ts';

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
