import type { GrantView } from '../../ports/grants/grants.ts';

export interface GrantState {
  readonly state: string;
  readonly expiresAt: number | null;
  readonly lastError: string | null;
}

/** The state of each location's grant, for the operator. */
export async function grantStates(tokens: {
  grants(): Promise<GrantView[]>;
}): Promise<ReadonlyMap<string, GrantState>> {
  const views = await tokens.grants();
  return new Map(
    views
      .filter(({ kind }) => kind === 'location')
      .map(({ ownerId, state, expiresAt, lastError }) => [ownerId, { state, expiresAt, lastError }]),
  );
}
