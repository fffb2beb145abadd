import { expect, it } from 'vitest';

import { uncertainDeliveries } from './find-uncertain.ts';

const AT = Date.parse('2026-11-15T09:12:00Z');

it('messages that may be missing or twice in the CRM are an issue of their location', () => {
  const [found, ...others] = uncertainDeliveries([
    { locationId: 'loc1', state: 'undeliverable', createdAt: AT },
    { locationId: 'loc1', state: 'delivered', createdAt: AT },
    { locationId: 'loc1', state: 'delivered', createdAt: AT },
  ]);
  expect(others).toEqual([]);
  expect(found?.kind).toBe('deliveries_uncertain');
  expect(found?.sentence).toMatch(
    /may be missing 1 inbound message. The CRM may have 2 inbound messages twice/,
  );
  expect(found?.action).toMatch(
    /Redeliver those that are missing. Delete the copies of those that are there twice/,
  );
});
