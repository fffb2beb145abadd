import { describe, expect, it } from 'vitest';

import { exceedsJsonLimits, isNestedTooDeeply, MAX_JSON_DEPTH } from './json-size.ts';

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

describe('nesting', () => {
  const MANY = { brackets: 1e9, names: 1e9, commas: 1e9 };
  const nested = (unit: string, depth: number) => unit.repeat(depth);

  it.each(['[', '[0,', '{"a":', '{"a":0,"b":', '["]}",{"\\"]":'])(
    'T60 of %s is bounded, whether the text is complete or not',
    (unit) => {
      const per = unit === '["]}",{"\\"]":' ? 2 : 1;
      const most = nested(unit, MAX_JSON_DEPTH / per);
      for (const [text, expected] of [
        [most, false],
        [`${most}"`, false],
        [`${most}[`, true],
        [`${most}[]]]]`, true],
        [`[${most}`, true],
      ] as const) {
        expect(isNestedTooDeeply(text)).toBe(expected);
        expect(exceedsJsonLimits(Buffer.from(text), MANY)).toBe(expected);
      }
    },
  );

  it('T60 is that of the text, not the number of its brackets', () => {
    const text = `[${'[[]],{"a":{}},'.repeat(10_000)}0,${JSON.stringify('['.repeat(10_000))}]`;
    expect(isNestedTooDeeply(text)).toBe(false);
    expect(exceedsJsonLimits(Buffer.from(text), MANY)).toBe(false);
  });
});
