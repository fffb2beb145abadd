import type { Logger } from '../../log.ts';
import type { Grants } from '../../ports/grants/grants.ts';

export interface PrivateTokenDeps {
  /** `CRM_PIT_TOKEN`: one token for everything, while everything is one location. */
  readonly single: string | undefined;
  /** `CRM_PIT_TOKENS` */
  readonly byLocation: ReadonlyMap<string, string>;
  /** What the operator set per location; undefined without an encryption key. */
  readonly grants: Pick<Grants, 'privateToken'> | undefined;
  readonly knownLocations: () => Promise<number>;
  readonly log: Logger;
}

/** The private integration token of a location (O10): the operator's, then that of the settings, then the single one. */
export function createPrivateTokens(
  deps: PrivateTokenDeps,
): (locationId: string) => Promise<string | undefined> {
  let said: 'serves' | 'serves not' | undefined;

  return async function privateToken(locationId) {
    const own = (await deps.grants?.privateToken(locationId)) ?? deps.byLocation.get(locationId);
    if (own !== undefined || deps.single === undefined) return own;
    const locations = await deps.knownLocations();
    const says = locations > 1 ? 'serves not' : 'serves';
    if (says !== said) {
      said = says;
      if (says === 'serves')
        deps.log.info({ locationId }, 'CRM_PIT_TOKEN serves this location, as long as it is the only one');
      else
        deps.log.warn(
          { locations },
          'CRM_PIT_TOKEN belongs to one location and several are known, so it is not used; set CRM_PIT_TOKENS, or a token per location with the operator API',
        );
    }
    return locations > 1 ? undefined : deps.single;
  };
}
