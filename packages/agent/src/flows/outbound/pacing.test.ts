import { FakeClock } from '@footbridge/testkit/fake-clock';
import { beforeEach, describe, expect, it } from 'vitest';

import type { Chat, Destination, MessageStore } from '../../ports/messages/messages.ts';
import { Pacing } from './pacing.ts';
import type { PacingLimits } from './pacing.ts';

const HOUR_MS = 3_600_000;
const KNOWN = '+15550100001';
const NO_GAP = { minMs: 0, maxMs: 0 };

/** A store with one conversation. */
const store: Pick<MessageStore, 'directChat' | 'groupOf' | 'chat'> = {
  directChat: (handle, service) => (handle === KNOWN && service === 'SMS' ? ({ id: 1 } as Chat) : undefined),
  groupOf: () => undefined,
  chat: () => undefined,
};

let clock: FakeClock;
let notes: Map<string, string>;
beforeEach(() => {
  clock = new FakeClock();
  notes = new Map();
});

function pacing(limits: Partial<PacingLimits>, random = () => 0.5): Pacing {
  return new Pacing({
    limits: {
      gap: NO_GAP,
      newPerHour: 0,
      newPerDay: 0,
      warmUp: [],
      maxUnanswered: 0,
      maxAnswers: 0,
      ...limits,
    },
    memory: { note: (name) => notes.get(name), setNote: (name, value) => void notes.set(name, value) },
    clock,
    random,
  });
}

const person = (number: number): Destination => ({
  to: 'person',
  handle: `+1555020${String(number).padStart(4, '0')}`,
  service: 'iMessage',
});
const admit = (limits: Pacing, destination: Destination): string => {
  const held = limits.reached(destination, store as MessageStore);
  if (held === undefined) limits.count(destination, store as MessageStore);
  return held === undefined ? 'admitted' : `held for ${(held.slotAt - clock.now()) / HOUR_MS} h`;
};
const NONE_HELD = { count: 0, nextSlotAt: undefined };
const stateOf = (limits: Pacing) => limits.state(NONE_HELD);

describe('the limit of new conversations', () => {
  it('is off by default', () => {
    const none = pacing({});
    for (let number = 0; number < 1000; number += 1) expect(admit(none, person(number))).toBe('admitted');
    expect(stateOf(none)).toBeUndefined();
  });

  it('counts an hour and a day back from now, and says when there is room again', async () => {
    const limited = pacing({ newPerHour: 2, newPerDay: 3 });
    expect([1, 2, 3].map((number) => admit(limited, person(number)))).toEqual([
      'admitted',
      'admitted',
      'held for 1 h',
    ]);
    await clock.advance(HOUR_MS);
    expect([3, 4].map((number) => admit(limited, person(number)))).toEqual(['admitted', 'held for 23 h']);
    expect(stateOf(limited)).toEqual({
      minGapMs: 0,
      maxGapMs: 0,
      newPerHour: 2,
      newLastHour: 1,
      newPerDay: 3,
      newLastDay: 3,
      nextSlotAt: new Date(clock.now() + 23 * HOUR_MS).toISOString(),
    });
    await clock.advance(23 * HOUR_MS);
    expect(admit(limited, person(4))).toBe('admitted');
  });

  it('grows with each day of the warm-up, counted from the first send', async () => {
    await clock.advance(100 * HOUR_MS);
    const limited = pacing({ newPerDay: 3, warmUp: [1, 2] });
    expect(stateOf(limited)).toMatchObject({ newPerDay: 1, warmUpDay: 1, warmUpDays: 2 });
    expect([1, 2].map((number) => admit(limited, person(number)))).toEqual(['admitted', 'held for 24 h']);
    await clock.advance(23 * HOUR_MS);
    expect(admit(limited, person(2))).toBe('held for 1 h');
    await clock.advance(HOUR_MS);
    expect([2, 3, 4].map((number) => admit(pacing({ warmUp: [1, 2] }), person(number)))).toEqual([
      'admitted',
      'admitted',
      'held for 24 h',
    ]);
    await clock.advance(24 * HOUR_MS);
    expect(stateOf(limited)).toEqual({ minGapMs: 0, maxGapMs: 0, newPerDay: 3, newLastDay: 0 });
    expect(stateOf(pacing({ warmUp: [1, 2] }))).toEqual({ minGapMs: 0, maxGapMs: 0 });
  });

  it('has room when the next day of the warm-up begins, although the last conversation is not a day old', async () => {
    const limited = pacing({ warmUp: [1, 2] });
    limited.count({ to: 'chat', chatId: 1 }, store as MessageStore);
    await clock.advance(20 * HOUR_MS);
    expect([1, 2].map((number) => admit(limited, person(number)))).toEqual(['admitted', 'held for 4 h']);
    await clock.advance(4 * HOUR_MS);
    expect(admit(limited, person(2))).toBe('admitted');
  });

  it('does not apply to people and groups that the Mac knows', () => {
    const limited = pacing({ newPerHour: 1 });
    expect(admit(limited, person(1))).toBe('admitted');
    expect(admit(limited, { to: 'person', handle: KNOWN, service: 'iMessage' })).toBe('admitted');
    expect(admit(limited, { to: 'chat', chatId: 1 })).toBe('admitted');
    expect(admit(limited, { to: 'group', recipients: ['a', 'b'], service: 'iMessage' })).toBe('held for 1 h');
  });

  it('is kept over a restart', () => {
    expect(admit(pacing({ newPerDay: 1 }), person(1))).toBe('admitted');
    expect(admit(pacing({ newPerDay: 1 }), person(2))).toBe('held for 24 h');
  });
});

describe('the pause between two sends', () => {
  it.each([
    [0, 1000],
    [0.5, 2000],
    [1, 3000],
  ])('varies within its range (%d → %d ms)', async (random, ms) => {
    const gap = { minMs: 1000, maxMs: 3000 };
    let isOver = false;
    void pacing({ gap }, () => random)
      .pause()
      .then(() => {
        isOver = true;
      });
    await clock.advance(ms - 1);
    expect(isOver).toBe(false);
    await clock.advance(1);
    expect(isOver).toBe(true);
  });

  it('ends when the queue stops', async () => {
    const stopping = new AbortController();
    const pause = pacing({ gap: { minMs: 1000, maxMs: 3000 } }).pause(stopping.signal);
    stopping.abort();
    await pause;
    expect(stateOf(pacing({ gap: { minMs: 1000, maxMs: 3000 } }))).toEqual({
      minGapMs: 1000,
      maxGapMs: 3000,
    });
  });
});
