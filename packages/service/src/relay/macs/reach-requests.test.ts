import { describe, expect, it } from 'vitest';

import { MAX_REACH_REQUESTS, ReachRequests } from './reach-requests.ts';

describe('requests to which a Mac may reply', () => {
  it('accept one reply each', () => {
    const requests = new ReachRequests();
    requests.add('a');
    expect([requests.replied('b'), requests.replied('a'), requests.replied('a')]).toEqual([
      false,
      true,
      false,
    ]);
  });

  it('the oldest of more than 64 requests are deleted first', () => {
    const requests = new ReachRequests();
    const ids = Array.from({ length: MAX_REACH_REQUESTS + 2 }, (_, index) => `request-${index}`);
    for (const id of ids) requests.add(id);
    expect(ids.filter((id) => !requests.replied(id))).toEqual(['request-0', 'request-1']);
  });
});
