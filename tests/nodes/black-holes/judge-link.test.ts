import { describe, expect, it } from 'vitest';

import { judgeLink } from './judge-link.ts';
import type { Webhook } from './judge-link.ts';

const webhook = (messageId: string, askedAt: number, status = 200): Webhook => ({
  messageId,
  status,
  askedAt,
  answeredAt: askedAt + 10,
});
const delivered = () => ['pending', 'delivered'];

describe('the score of a link', () => {
  it('M10 has no violation when all is sent once, in order, and reported', () => {
    const taken = [webhook('a', 0), webhook('b', 5), webhook('c', 20)];
    const all = [...taken, webhook('d', 40, 404), webhook('e', 60, 503)];
    // The first two were under way at the same time.
    expect(judgeLink(all, ['b', 'a', 'c'], delivered)).toEqual({
      webhooks: 5,
      accepted: 3,
      unavailable: 1,
      violations: [],
    });
  });

  it.each([
    ['lost: a', [webhook('a', 0)], [], delivered],
    ['sent 2 times: a', [webhook('a', 0)], ['a', 'a'], delivered],
    ['404, but sent: a', [webhook('a', 0, 404)], ['a'], delivered],
    ['503, but sent: a', [webhook('a', 0, 503)], ['a'], delivered],
    ['answered 500: a', [webhook('a', 0, 500)], [], delivered],
    ['statuses of a: pending', [webhook('a', 0)], ['a'], () => ['pending']],
    ['out of order: a', [webhook('a', 0), webhook('b', 20)], ['b', 'a'], delivered],
  ])('M10 names what went wrong: %s', (violation, webhooks, sentTexts, statusesOf) => {
    expect(judgeLink(webhooks, sentTexts, statusesOf).violations).toEqual([violation]);
  });
});
