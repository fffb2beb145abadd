import { FakeClock } from '@footbridge/testkit/fake-clock';
import { beforeEach, describe, expect, it } from 'vitest';

import type { Chat, Destination, MessageStore } from '../../ports/messages/messages.ts';
import { Pacing } from './pacing.ts';
import type { PacingLimits } from './pacing.ts';

const HOUR_MS = 3_600_000;
const KNOWN = '+15550100001';
const NO_GAP = { minMs: 0, maxMs: 0 };

/** A store with one conversation. */
const store: Pick<MessageStore, 'directChat' | 'groupOf'> = {
  directChat: (handle, service) => (handle === KNOWN && service === 'SMS' ? ({ id: 1 } as Chat) : undefined),
  groupOf: () => undefined,
};

let clock: FakeClock;
let saved: string | undefined;
beforeEach(() => {
  clock = new FakeClock();
  saved = undefined;
});

function pacing(limits: Partial<PacingLimits>, random = () => 0.5): Pacing {
  return new Pacing({
    limits: { gap: NO_GAP, newPerHour: 0, newPerDay: 0, ...limits },
    memory: { load: () => saved, save: (value) => void (saved = value) },
    clock,
    random,
  });
}

const person = (number: number): Destination => ({
  to: 'person',
  handle: `+1555020${String(number).padStart(4, '0')}`,
  service: 'iMessage',
});
const admit = (limits: Pacing, destination: Destination): string =>
  limits.admit(destination, store as MessageStore)?.code ?? 'admitted';

describe('the limit of new conversations', () => {
  it('is off by default', () => {
    const none = pacing({});
    for (let number = 0; number < 1000; number += 1) expect(admit(none, person(number))).toBe('admitted');
    expect(none.state()).toBeUndefined();
  });

  it('counts an hour and a day back from now, and says RATE_LIMITED', async () => {
    const limited = pacing({ newPerHour: 2, newPerDay: 3 });
    expect([1, 2, 3].map((number) => admit(limited, person(number)))).toEqual([
      'admitted',
      'admitted',
      'RATE_LIMITED',
    ]);
    await clock.advance(HOUR_MS);
    expect([3, 4].map((number) => admit(limited, person(number)))).toEqual(['admitted', 'RATE_LIMITED']);
    expect(limited.state()).toEqual({
      minGapMs: 0,
      maxGapMs: 0,
      newPerHour: 2,
      newLastHour: 1,
      newPerDay: 3,
      newLastDay: 3,
    });
    await clock.advance(23 * HOUR_MS);
    expect(admit(limited, person(4))).toBe('admitted');
  });

  it('does not apply to people and groups that the Mac knows', () => {
    const limited = pacing({ newPerHour: 1 });
    expect(admit(limited, person(1))).toBe('admitted');
    expect(admit(limited, { to: 'person', handle: KNOWN, service: 'iMessage' })).toBe('admitted');
    expect(admit(limited, { to: 'chat', chatId: 1 })).toBe('admitted');
    expect(admit(limited, { to: 'group', recipients: ['a', 'b'], service: 'iMessage' })).toBe('RATE_LIMITED');
  });

  it('is kept over a restart', () => {
    expect(admit(pacing({ newPerDay: 1 }), person(1))).toBe('admitted');
    expect(admit(pacing({ newPerDay: 1 }), person(2))).toBe('RATE_LIMITED');
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
    expect(pacing({ gap: { minMs: 1000, maxMs: 3000 } }).state()).toEqual({ minGapMs: 1000, maxGapMs: 3000 });
  });
});
