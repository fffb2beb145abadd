import { asLocationId } from '@footbridge/protocol/ids';
import type { LocationId } from '@footbridge/protocol/ids';
import { expect, it } from 'vitest';

import { Telling } from './telling.ts';

const lease = { locationId: asLocationId('loc1') as LocationId, deviceId: 'd', sessionId: 's', epoch: 1 };
const call = { locationId: 'loc1', messageId: 'm', status: 'pending', error: undefined } as const;

it('A2 a pending that is given up before its first attempt is said once all the same', () => {
  const telling = new Telling('pending', call, lease, { isCurrent: () => true });
  telling.giveUp();
  expect(telling.wanted()).toBe(true);
  expect(telling.confirmed()).toBe(true);
  telling.attempting();
  expect(telling.wanted()).toBe(false);
});

it('A4 a pending whose Mac reports while its lease is being confirmed is said all the same', async () => {
  const asked = Promise.withResolvers<boolean>();
  const leases = { isCurrent: () => true, confirm: () => asked.promise };
  const telling = new Telling('pending', call, lease, leases);
  const confirmed = telling.confirmed();
  telling.giveUp();
  asked.resolve(true);
  expect(await confirmed).toBe(true);
  expect(telling.wanted()).toBe(true);
});

it('A11 nothing is said in the name of a lease that is history', () => {
  expect(new Telling('pending', call, lease, { isCurrent: () => false }).wanted()).toBe(false);
});

it('A2 a pending is held for a minute while nobody can say whether it may go out, but not when it is given up', () => {
  const away = { cause: 'away', status: 0, reason: 'away', attempts: 0, othersPass: false };
  const telling = new Telling('pending', call, lease, { isCurrent: () => true });
  expect(telling.again({ ...away, sinceMs: 59_000 })).toBe(true);
  expect(telling.again({ ...away, sinceMs: 60_000 })).toBe(false);
  expect(
    new Telling('rejection', call, undefined, { isCurrent: () => true }).again({ ...away, sinceMs: 0 }),
  ).toBe(false);
  telling.giveUp();
  expect(telling.again({ ...away, sinceMs: 0 })).toBe(false);
});

it('A11 a Mac that comes back while its old line is asked about is still heard', async () => {
  const asked = Promise.withResolvers<boolean>();
  const confirm = (one: { epoch: number }) => (one.epoch === 1 ? asked.promise : Promise.resolve(true));
  const telling = new Telling('terminal', call, lease, { isCurrent: () => true, confirm });
  const confirmed = telling.confirmed();
  telling.speakFor({ ...lease, sessionId: 's2', epoch: 2 });
  asked.resolve(false);
  expect(await confirmed).toBe(true);
  expect(await new Telling('terminal', call, lease, { isCurrent: () => true, confirm }).confirmed()).toBe(
    false,
  );
});

it('A5 what was withdrawn is not said, not even once', () => {
  const telling = new Telling('rejection', call, undefined, { isCurrent: () => true });
  telling.withdraw();
  expect([telling.wanted(), telling.wanted(true), telling.confirmed()]).toEqual([false, false, false]);
});
