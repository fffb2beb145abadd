import { expect, it } from 'vitest';

import { doubtfulClock } from './find-doubtful-clock.ts';

const DAYS_90 = 90 * 86_400_000;

it.each([
  [
    'other_machine',
    DAYS_90,
    /clock of one is 90 days ahead, compared with the CRM's. Expired data is not deleted/,
    /Set the clock of one/,
  ],
  ['step', -DAYS_90, /clock of one jumped, it is 90 days behind/, /restart the service/],
  [
    'old_rows',
    DAYS_90,
    /CRM does not respond, and compared with the newest message it is 90 days ahead/,
    /the next message confirms it/,
  ],
] as const)('a clock is an issue of its machine: %s', (because, aheadMs, sentence, action) => {
  const [found] = doubtfulClock('one', { agrees: false, because, aheadMs });
  expect(found).toMatchObject({ kind: 'clock_doubtful', subject: 'one' });
  expect(found?.sentence).toMatch(sentence);
  expect(found?.action).toMatch(action);
});
