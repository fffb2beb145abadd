import { describe, expect, it } from 'vitest';

import { exceedsJsonLimits } from './json-size.ts';

const exceeds = (text: string) => exceedsJsonLimits(Buffer.from(text), { brackets: 3, names: 2, commas: 4 });

describe('exceedsJsonLimits', () => {
  it.each([
    ['[[[]]]', false],
    ['[[[[]]]]', true],
    ['[{},{},{}]', true],
    ['{"a":1,"b":2}', false],
    ['{"a":1,"b":2,"c":3}', true],
    ['[1,2,3,4,5]', false],
    ['[1,2,3,4,5,6]', true],
    ['["[[[[ {{{{ :::: ,,,,,"]', false],
    ['["\\"[[[[",1]', false],
    ['["\\\\",[[[[]]]]]', true],
    ['', false],
  ])('T54 %s exceeds the limits: %s', (text, expected) => {
    expect(exceeds(text)).toBe(expected);
  });
});
