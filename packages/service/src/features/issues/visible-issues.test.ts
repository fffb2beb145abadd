import { expect, it } from 'vitest';

import type { Issue } from './issues-sql.ts';
import { readVisible } from './visible-issues.ts';

const ISSUES = Array.from({ length: 10 }, (_, at): Issue => ({
  id: String(at),
  kind: 'mac_offline',
  subject: '',
  locationIds: at === 9 ? null : [`loc${at % 3}`],
  sentence: '',
  action: '',
  since: at,
  openedAt: at,
  closedAt: null,
  seenBy: 'a',
  seenAt: 0,
  reopened: 0,
}));

it.each([
  [new Set(['loc1']), 2, undefined, ['1', '4']],
  [new Set(['loc1']), 2, 4, ['7']],
  [new Set(['loc1']), 3, undefined, ['1', '4', '7']],
  [new Set(['loc7']), 2, undefined, []],
  [null, 2, 7, ['8', '9']],
])('a page for %j of at most %j issues after %j has %j', async (locations, limit, at, ids) => {
  const after = at === undefined ? undefined : { at, id: String(at) };
  const found = await readVisible(
    { limit, after },
    locations,
    async (page) => {
      expect(page.limit).toBe(limit);
      const from = page.after === undefined ? 0 : page.after.at + 1;
      return ISSUES.slice(from, from + page.limit);
    },
    ({ since, id }) => ({ at: since, id }),
  );
  expect(found.map(({ id }) => id)).toEqual(ids);
});
