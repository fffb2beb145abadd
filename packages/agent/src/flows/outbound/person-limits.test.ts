import { describe, expect, it } from 'vitest';

import type { MessageStore, StoredRow } from '../../ports/messages/messages.ts';
import { personLimit } from './person-limits.ts';
import type { PersonLimits } from './person-limits.ts';

const NOW = Date.UTC(2026, 0, 31);
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** A message: who sent it, how long ago, and whether it failed or is a Tapback. */
type Past = readonly ['me' | 'them', number, ('failed' | 'tapback')?];

/** Returns how long a message to this person is held, or undefined. The history begins with the newest message. */
function heldFor(history: readonly Past[], limits: Partial<PersonLimits>): number | undefined {
  const rows = history.map(([from, age, more], index) => ({
    guid: `${index} ${more ?? ''}`,
    fromMe: from === 'me',
    sentAt: NOW - age,
    tapback: more === 'tapback' ? {} : undefined,
  }));
  const store = {
    history: () => rows as StoredRow[],
    sendState: (guid: string) => ({
      guid,
      finished: true,
      sent: true,
      delivered: false,
      error: guid.endsWith('failed') ? 22 : 0,
    }),
  } satisfies Partial<MessageStore>;
  const held = personLimit('+15550100001', { maxUnanswered: 0, maxAnswers: 0, ...limits }, store, NOW);
  return held && held.slotAt - NOW;
}

describe('the limit of unanswered messages', () => {
  const limit = { maxUnanswered: 2 };

  it.each<[string, Past[], number | undefined]>([
    ['no message yet', [], undefined],
    ['one message', [['me', DAY_MS]], undefined],
    [
      'two messages',
      [
        ['me', DAY_MS],
        ['me', 3 * DAY_MS],
      ],
      27 * DAY_MS,
    ],
    [
      'three messages',
      [
        ['me', DAY_MS],
        ['me', 3 * DAY_MS],
        ['me', 4 * DAY_MS],
      ],
      27 * DAY_MS,
    ],
    [
      'a reply after them',
      [
        ['them', 1],
        ['me', DAY_MS],
        ['me', DAY_MS],
      ],
      undefined,
    ],
    [
      'a Tapback after them',
      [
        ['them', 1, 'tapback'],
        ['me', DAY_MS],
        ['me', DAY_MS],
      ],
      undefined,
    ],
    [
      'a reply between them',
      [
        ['me', 1],
        ['them', DAY_MS],
        ['me', DAY_MS],
      ],
      undefined,
    ],
    [
      'an own Tapback',
      [
        ['me', 1, 'tapback'],
        ['me', DAY_MS],
      ],
      undefined,
    ],
    [
      'one that failed',
      [
        ['me', 1],
        ['me', 2, 'failed'],
      ],
      undefined,
    ],
    [
      'one older than 30 days',
      [
        ['me', 1],
        ['me', 31 * DAY_MS],
      ],
      undefined,
    ],
    [
      'one dated in the future',
      [
        ['me', -DAY_MS],
        ['me', -DAY_MS],
      ],
      30 * DAY_MS,
    ],
  ])('with %s', (_, history, expected) => {
    expect(heldFor(history, limit)).toBe(expected);
  });
});

describe('the limit of answers', () => {
  const limit = { maxAnswers: 2 };
  const loop: Past[] = [
    ['them', MINUTE_MS],
    ['me', 2 * MINUTE_MS],
    ['them', 3 * MINUTE_MS],
    ['me', 4 * MINUTE_MS],
    ['them', 5 * MINUTE_MS],
  ];

  it('stops two programs that keep replying to each other, until the first answer is ten minutes old', () => {
    expect(heldFor(loop, limit)).toBe(6 * MINUTE_MS);
    expect(heldFor(loop.slice(2), limit)).toBeUndefined();
  });

  it('does not count several messages in a row', () => {
    const texts: Past[] = [1, 2, 3, 4].map((age) => ['me', age]);
    expect(heldFor([...texts, ['them', 5]], limit)).toBeUndefined();
  });

  it('does not count answers older than ten minutes', () => {
    const earlier = loop.map(([from, age]): Past => [from, age + 7 * MINUTE_MS]);
    expect(heldFor(earlier, limit)).toBeUndefined();
  });
});
