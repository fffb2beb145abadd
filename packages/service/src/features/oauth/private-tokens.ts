import type { Log } from '@footbridge/runtime/log';

import type { Grants } from './grants-sql.ts';

export interface PrivateTokenDeps {
  /** `CRM_PIT_TOKEN`: used for a location while no license owns another one. */
  readonly single: string | undefined;
  /** `CRM_PIT_TOKENS` */
  readonly byLocation: ReadonlyMap<string, string>;
  /** Tokens the operator set per location; undefined without an encryption key. */
  readonly grants: Pick<Grants, 'privateToken'> | undefined;
  /** Resolves with up to this many locations that a license owns. */
  readonly ownedLocations: (limit: number) => Promise<readonly string[]>;
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
    const owned = await deps.ownedLocations(2);
    const isOnly = owned.length <= 1;
    if (isOnly !== isSingleUsed) {
      isSingleUsed = isOnly;
      if (isOnly)
        deps.log.info(
          { event: 'private_token.single_used', locationId },
          'CRM_PIT_TOKEN serves this location as long as it is the only one',
        );
      else
        deps.log.warn(
          { event: 'private_token.single_ignored' },
          'CRM_PIT_TOKEN belongs to one location and licenses own several, so it is not used; set CRM_PIT_TOKENS, or a token per location with the operator API, or delete a mistaken location',
        );
    }
    return owned.every((one) => one === locationId) ? deps.single : undefined;
  };
}

/**
 * Resolves with a function that returns whether a private integration token serves a known location. `unreadable`: no key decrypts it.
 * `ambiguous`: there is only CRM_PIT_TOKEN, and licenses own several locations.
 */
export async function privateTokenCheck({
  single,
  byLocation,
  grants,
  ownedLocations,
}: Pick<PrivateTokenDeps, 'single' | 'byLocation' | 'ownedLocations'> & {
  readonly grants: Pick<Grants, 'privateTokens'> | undefined;
}): Promise<(locationId: string) => 'private' | 'unreadable' | 'ambiguous' | 'none'> {
  const stored = new Map(
    ((await grants?.privateTokens()) ?? []).map(({ locationId, isReadable }) => [locationId, isReadable]),
  );
  const owned = single === undefined ? undefined : await ownedLocations(2);
  return (locationId) => {
    const isReadable = stored.get(locationId);
    if (isReadable === true || byLocation.has(locationId)) return 'private';
    if (owned?.every((one) => one === locationId)) return 'private';
    if (isReadable === false) return 'unreadable';
    return (owned?.length ?? 0) > 1 ? 'ambiguous' : 'none';
  };
}
