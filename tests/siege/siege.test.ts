import { expect, it } from 'vitest';

import { ATTACKS } from './attacks.ts';
import { DEFECTS } from './defects.ts';
import { FLOODS } from './floods.ts';

it('T52 npm run siege replays every known defect', () => {
  const names = Object.keys({ ...ATTACKS, ...DEFECTS, ...FLOODS }).join(' ');
  const replayed = new Set(Array.from(names.matchAll(/#(\d+)/g), ([, number]) => Number(number)));
  expect([...replayed].toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 17 }, (_, index) => index + 1),
  );
});
