import { expect, it } from 'vitest';

import { everyPage } from './every-page.ts';

const PAGES = [
  { entries: ['a', 'b'], next: '1' },
  { entries: ['c'], next: '2' },
  { entries: [], next: undefined },
];

it('a list is read to its end', async () => {
  const asked: (string | undefined)[] = [];
  const all = await everyPage(
    async ({ after }) => {
      asked.push(after);
      return PAGES[Number(after ?? 0)] ?? expect.fail('no such page');
    },
    ({ entries }) => entries,
  );
  expect([all, asked]).toEqual([
    ['a', 'b', 'c'],
    [undefined, '1', '2'],
  ]);
});

it('a service that names the same place again does not hold up the command', async () => {
  const same = { entries: ['a'], next: '1' };
  expect(
    await everyPage(
      async () => same,
      ({ entries }) => entries,
    ),
  ).toEqual(['a', 'a']);
});
