import { describe, expect, it } from 'vitest';

import { closestName } from './closest-name.ts';

describe('the closest name', () => {
  it.each([
    ['kyes', 'keys'],
    ['locaton', 'location'],
    ['KEYS', 'keys'],
    ['liscence', 'license'],
    ['zebra', undefined],
    ['x', undefined],
  ])('of %s is %s', (typed, expected) => {
    expect(closestName(typed, ['keys', 'license', 'location', 'tail'])).toBe(expected);
  });

  it('is within the given number of edits', () => {
    expect(closestName('CRM_HOST', ['CRM_HOSTNAME'], 3)).toBeUndefined();
    expect(closestName('CRM_HOST', ['CRM_HOSTNAME'], 4)).toBe('CRM_HOSTNAME');
  });
});
