import { expect, it } from 'vitest';

import { linkIn } from './link-in.ts';

it.each([
  ['see https://Example.com/a/ now', 'example.com/a'],
  ['www.example.com//', 'example.com'],
  ['http://a', 'a'],
  ['no link', undefined],
])('finds the link in %j', (text, link) => {
  expect(linkIn(text)).toBe(link);
});

it('T54 takes linear time for a link with many slashes', () => {
  // Quadratic time would far exceed the timeout of the test.
  expect(linkIn(`https://a${'/'.repeat(1_000_000)}b`)).toHaveLength(1_000_002);
});
