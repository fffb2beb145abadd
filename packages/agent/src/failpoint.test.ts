import { describe, expect, it } from 'vitest';

import { createFailpoints, noFailpoints } from './failpoint.ts';

describe('failpoints', () => {
  it('do nothing when none is set', () => {
    expect(createFailpoints(undefined)).toBe(noFailpoints);
    expect(createFailpoints('')).toBe(noFailpoints);
  });

  it('reject an unknown action', () => {
    expect(() => createFailpoints('a:explode')).toThrow('name:kill');
  });

  it('ignore a name that is not set', () => {
    expect(() => createFailpoints('a:kill@3')('b')).not.toThrow();
  });
});
