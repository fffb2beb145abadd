import { requestTime } from '@footbridge/protocol/ids';
import { expect, it } from 'vitest';

import { nextRequestId } from './request-id.ts';

it('request ids are different and contain the time of their creation', () => {
  const before = Date.now();
  const ids = Array.from({ length: 1000 }, () => nextRequestId());
  const after = Date.now();
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) {
    expect(requestTime(id)).toBeGreaterThanOrEqual(before);
    expect(requestTime(id)).toBeLessThanOrEqual(after);
  }
});
