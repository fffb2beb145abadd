import { expect, it } from 'vitest';

import { repositoryOf } from './repository.ts';

it('returns the repository of the GitHub workflow, and undefined outside a workflow', () => {
  const env = { GITHUB_SERVER_URL: 'https://github.com', GITHUB_REPOSITORY: 'owner/footbridge' };
  expect(repositoryOf(env)).toEqual({ type: 'git', url: 'git+https://github.com/owner/footbridge.git' });
  expect(repositoryOf({})).toBeUndefined();
});
