import type { Log } from '@footbridge/runtime/log';

import type { Grants } from './grants.ts';

export interface PrivateTokenDeps {
  /** `CRM_PIT_TOKEN`: used while a single location is known. */
  readonly single: string | undefined;
  /** `CRM_PIT_TOKENS` */
  readonly byLocation: ReadonlyMap<string, string>;
  /** Tokens the operator set per location; undefined without an encryption key. */
  readonly grants: Pick<Grants, 'privateToken'> | undefined;
  readonly knownLocations: () => Promise<number>;
  readonly log: Log;
}

/** The private integration token of a location (O10): set by the operator, else from the settings, else the single one. */
export function createPrivateTokens(
  deps: PrivateTokenDeps,
): (locationId: string) => Promise<string | undefined> {
  let isSingleUsed: boolean | undefined;

  return async function privateToken(locationId) {
    const own = (await deps.grants?.privateToken(locationId)) ?? deps.byLocation.get(locationId);
    if (own !== undefined || deps.single === undefined) return own;
    const locations = await deps.knownLocations();
    const isUsed = locations <= 1;
    if (isUsed !== isSingleUsed) {
      isSingleUsed = isUsed;
      if (isUsed)
        deps.log.info(
          { event: 'private_token.single_used', locationId },
          'CRM_PIT_TOKEN serves this location as long as it is the only one',
        );
      else
        deps.log.warn(
          { event: 'private_token.single_ignored', locations },
          'CRM_PIT_TOKEN belongs to one location and several are known, so it is not used; set CRM_PIT_TOKENS, or a token per location with the operator API',
        );
    }
    return isUsed ? deps.single : undefined;
  };
}

/** Resolves with a function that returns whether a private integration token serves a known location, and whether it can be read. */
export async function privateTokenCheck({
  single,
  byLocation,
  grants,
  knownLocations,
}: Pick<PrivateTokenDeps, 'single' | 'byLocation' | 'knownLocations'> & {
  readonly grants: Pick<Grants, 'privateTokens'> | undefined;
}): Promise<(locationId: string) => 'private' | 'unreadable' | 'none'> {
  const stored = new Map(
    ((await grants?.privateTokens()) ?? []).map(({ locationId, isReadable }) => [locationId, isReadable]),
  );
  const isSingleUsed = single !== undefined && (await knownLocations()) <= 1;
  return (locationId) => {
    if (isSingleUsed || byLocation.has(locationId)) return 'private';
    const isReadable = stored.get(locationId);
    if (isReadable === undefined) return 'none';
    return isReadable ? 'private' : 'unreadable';
  };
}
