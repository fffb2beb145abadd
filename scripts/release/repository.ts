export interface Repository {
  readonly type: 'git';
  readonly url: string;
}

/**
 * Returns the repository of the GitHub workflow that builds the release, or undefined outside a workflow. npm accepts provenance only for a
 * package whose manifest names the repository of the workflow that signs it.
 */
export function repositoryOf({
  GITHUB_SERVER_URL: server,
  GITHUB_REPOSITORY: name,
}: NodeJS.ProcessEnv): Repository | undefined {
  if (server === undefined || name === undefined) return undefined;
  return { type: 'git', url: `git+${server}/${name}.git` };
}
