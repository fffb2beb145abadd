import { describe, expect, it } from 'vitest';

import { Lifecycle } from './lifecycle.ts';

describe('the lifecycle', () => {
  it('runs every cleanup once, newest first, even after one of them throws', async () => {
    const closed: string[] = [];
    const life = new Lifecycle();
    life.add(() => void closed.push('first'));
    life.add(() => {
      throw new Error('stuck');
    });
    life.add(async () => void closed.push('last'));
    await expect(life.close()).rejects.toThrow('did not close cleanly');
    await expect(life.close()).rejects.toThrow('did not close cleanly');
    expect(closed).toEqual(['last', 'first']);
  });
});
