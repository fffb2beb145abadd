import { FakeClock } from '@footbridge/testkit/fake-clock';
import { describe, expect, it } from 'vitest';
import { asLocationId } from '@footbridge/protocol/ids';
import { createLog } from '@footbridge/runtime/log';

import { ageCheck, lookUpPhone } from './check-message.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

function start(maxAgeMs = 10 * MINUTE_MS) {
  const clock = new FakeClock();
  const check = ageCheck(maxAgeMs, clock);
  const began = clock.now();
  /** The verdict on a message that is this old by a correct clock. */
  const verdict = (ageMs: number) => check(began + clock.monotonic() - ageMs)?.code ?? 'passed';
  return { clock, check, verdict };
}

describe('the age of a message', () => {
  it('the age is limited when the webhook has a time', () => {
    const { check, verdict } = start();
    expect([0, 10 * MINUTE_MS, 10 * MINUTE_MS + 1, DAY_MS].map(verdict)).toEqual([
      'passed',
      'passed',
      'MESSAGE_TOO_OLD',
      'MESSAGE_TOO_OLD',
    ]);
    expect(check(undefined)).toBeUndefined();
  });

  it('the age is not limited by default', () => {
    const { verdict } = start(0);
    expect([0, DAY_MS].map(verdict)).toEqual(['passed', 'passed']);
  });

  it('the age is reported in seconds', () => {
    const { check, clock } = start();
    check(clock.now());
    expect(check(clock.now() - DAY_MS)?.details).toEqual({ ageSec: 86_400, limitSec: 600 });
  });

  it('grows while no webhook arrives', async () => {
    const { clock, verdict } = start();
    expect(verdict(0)).toBe('passed');
    await clock.advance(DAY_MS);
    expect(verdict(DAY_MS)).toBe('MESSAGE_TOO_OLD');
  });

  it.each([DAY_MS, -DAY_MS])('the age does not depend on a wall clock that jumps by %d ms', (ms) => {
    const { clock, verdict } = start();
    expect(verdict(0)).toBe('passed');
    clock.advanceWallClock(ms);
    expect([0, 5 * MINUTE_MS].map(verdict)).toEqual(['passed', 'passed']);
  });

  it('the age does not depend on a webhook with a time in the future', () => {
    const { verdict } = start();
    expect([-400 * DAY_MS, 0, 5 * MINUTE_MS].map(verdict)).toEqual(['passed', 'passed', 'passed']);
    expect(verdict(DAY_MS)).toBe('MESSAGE_TOO_OLD');
  });
});

it('W7 a lookup that throws is logged and gives no phone', async () => {
  const lines: string[] = [];
  const phone = await lookUpPhone(asLocationId('locA1') ?? expect.fail('not a location'), 'contact1', {
    crm: { lookUpPhone: () => Promise.reject(new Error('database closed')) },
    clock: new FakeClock(),
    log: createLog('debug', { destination: { write: (line) => void lines.push(line) } }),
  });
  expect(phone).toBeUndefined();
  expect(lines.join('')).toContain('webhook.phone_lookup_failed');
});
