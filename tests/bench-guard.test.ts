import { readdirSync } from 'node:fs';
import { parse } from 'node:path';

import { describe, expect, it } from 'vitest';

import { guard, readRecorded, regressions } from '../bench/guard.ts';

const ARCHITECTURES = readdirSync(new URL('../bench/recorded/', import.meta.url)).map(
  (file) => parse(file).name,
);

describe('the regression guard of the bench', () => {
  it('tolerates noise and names the path that became more expensive', () => {
    const recorded = { outbound: 0.8, inbound: 1.2 };
    expect(regressions({ outbound: 1.19, inbound: 1.3 }, recorded)).toEqual([]);
    expect(regressions({ outbound: 1.21, inbound: 1.3 }, recorded)).toEqual([
      'outbound costs 1.21 × floor; the record allows 1.20',
    ]);
  });

  it('counts a path without a record as a regression', () => {
    expect(regressions({ outbound: 0.5 }, {})).toHaveLength(1);
  });

  it('has a record for x64 and arm64', () => {
    expect(ARCHITECTURES).toEqual(['arm64', 'x64']);
  });

  it.each(ARCHITECTURES)('has both guarded paths in the record of %s', (arch) => {
    expect(readRecorded(arch)).toMatchObject({ outbound: expect.any(Number), inbound: expect.any(Number) });
  });

  it('returns 2 and measures nothing on an architecture without a record', async () => {
    expect(await guard('riscv64')).toBe(2);
  });
});
