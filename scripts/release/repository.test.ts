import { expect, it } from 'vitest';

import { repositoryOf } from './repository.ts';

it('names the repository of the workflow, and none outside of one', () => {
  const env = { GITHUB_SERVER_URL: 'https://github.com', GITHUB_REPOSITORY: 'owner/footbridge' };
  expect(repositoryOf(env)).toEqual({ type: 'git', url: 'git+https://github.com/owner/footbridge.git' });
  expect(repositoryOf({})).toBeUndefined();
});
