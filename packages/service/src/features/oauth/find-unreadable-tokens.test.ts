import { expect, it } from 'vitest';

import { unreadableTokens } from './find-unreadable-tokens.ts';

it('tokens that no key decrypts are one issue', () => {
  const [found, ...others] = unreadableTokens([
    { kind: 'company', ownerId: 'comp1' },
    { kind: 'location', ownerId: 'loc1' },
    { kind: 'location', ownerId: 'loc2' },
  ]);
  expect(others).toEqual([]);
  expect(found?.kind).toBe('tokens_unreadable');
  expect(found?.sentence).toMatch(
    /cannot be called for 1 agency and 2 locations. .* CRM_OAUTH_ENCRYPTION_KEY/,
  );
  expect(found?.action).toMatch(/Add the former key .* install the app again/);
});
