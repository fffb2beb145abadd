import { describe, expect, it } from 'vitest';

import { measureNow, readRecorded, regressions } from '../bench/guard.ts';

describe('the regression guard of the bench', () => {
  it('lets noise pass and names the path that became dearer', () => {
    const recorded = { outbound: 0.8, inbound: 1.2 };
    expect(regressions({ outbound: 1.19, inbound: 1.3 }, recorded)).toEqual([]);
    expect(regressions({ outbound: 1.21, inbound: 1.3 }, recorded)).toEqual([
      'outbound costs 1.21 × floor; the record allows 1.20',
    ]);
  });

  it('counts a path without a record as a regression', () => {
    expect(regressions({ outbound: 0.5 }, {})).toHaveLength(1);
  });

  it(
    'a message costs at most 1.5 × what was recorded, in units of the floor',
    { timeout: 120_000 },
    async () => {
      expect(regressions(await measureNow(), readRecorded())).toEqual([]);
    },
  );
});
