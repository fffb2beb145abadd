import { expect, it } from 'vitest';

import { openJournal } from '../../journal/journal-sqlite.ts';
import { readStoreState, recordStoreState } from './store-state.ts';

it.each([
  ['denied', 'Full Disk Access'],
  ['absent', 'open Messages'],
  ['empty', 'sign in'],
  ['corrupt', 'restart the Mac'],
  ['locked', 'another program'],
  ['replaced', 'chat ids'],
  ['readable', 'readable'],
] as const)('the state %s is saved with what to do about it', (state, advice) => {
  const journal = openJournal(':memory:');
  expect(readStoreState(journal)).toBeUndefined();
  recordStoreState(state, journal);
  expect(readStoreState(journal)).toEqual({ state, meaning: expect.stringContaining(advice) });
  journal.close();
});
