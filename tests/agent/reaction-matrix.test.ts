import { describe, expect, it } from 'vitest';

import { allMacs, casesOf, runCases } from './reaction-matrix.ts';

/** Every 29th case of each Mac. `bench/agent.ts reactions` runs all of them. */
const EACH = 29;

describe('reactions on the screen', () => {
  it.each(allMacs())(
    'F9 M6 hit their bubble once on macOS $macos in $language',
    async ({ macos, language }) => {
      const offset = language.charCodeAt(0) % EACH;
      const sample = casesOf(macos, language).filter((_, index) => index % EACH === offset);
      const { examples, strays, needless, doubled, wrong } = await runCases(sample, 1);
      expect(examples).toEqual([]);
      expect({ strays, needless, doubled, wrong }).toEqual({ strays: 0, needless: 0, doubled: 0, wrong: 0 });
    },
  );
});
