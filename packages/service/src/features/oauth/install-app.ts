import type { Clock } from '@footbridge/runtime/clock';
import type { Log } from '@footbridge/runtime/log';

import { fixedDelay, retry } from '../../platform/retry/retry.ts';
import type { Grants } from './grants-sql.ts';
import { EXPECTED_MS } from './app-events.ts';
import type { RecordRefusal } from './record-refusal.ts';
import type { IssuedTokens, TokenEndpoint } from './token-endpoint.ts';

export type InstallOutcome =
  | { readonly kind: 'location'; readonly locationId: string; readonly companyId: string | null }
  /** `later`: locations whose tokens are still being requested when the callback is answered. */
  | {
      readonly kind: 'company';
      readonly companyId: string;
      readonly locations: readonly string[];
      readonly failed: readonly string[];
      readonly later: number;
    }
  /** The CRM rejected the code. */
  | { readonly kind: 'rejected' }
  | { readonly kind: 'failed' };

export interface InstallDeps {
  readonly grants: Grants;
  readonly endpoint: TokenEndpoint;
  readonly clock: Clock;
  readonly log: Log;
  readonly announce: (ownerId: string) => Promise<void>;
  readonly recordRefusal: RecordRefusal;
  /** Locations whose tokens this process is requesting for an installation of their company. */
  readonly requesting: Set<string>;
}

const MINTS_AT_ONCE = 4;
const RETRY_POLICY = fixedDelay(3, 2000);
const RESPOND_WITHIN_MS = 8000;

/** Exchanges the code of an OAuth callback. Stores the tokens of a location; exchanges a company's for tokens of its locations (O1, O9). */
export function createInstallApp(deps: InstallDeps): (code: string) => Promise<InstallOutcome> {
  const { grants, endpoint, clock, log, announce, recordRefusal, requesting } = deps;

  return async function installApp(code) {
    const issued = await endpoint.exchange(code);
    if (!issued.ok && issued.retryable) {
      const { reason, code: network } = issued;
      log.error(
        { event: 'oauth.exchange_failed', reason, network },
        'authorisation code not exchanged, token endpoint unavailable',
      );
      return { kind: 'failed' };
    }
    if (!issued.ok) {
      log.warn(
        { event: 'oauth.code_rejected', reason: issued.reason },
        'authorisation code rejected by the CRM',
      );
      return { kind: 'rejected' };
    }
    const tokens = issued.value;
    const { locationId, companyId } = tokens;
    if (locationId !== null) {
      if (!(await storeLocation(locationId, companyId, tokens))) return { kind: 'failed' };
      log.info({ event: 'oauth.location_authorised', locationId }, 'location authorised the app');
      return { kind: 'location', locationId, companyId };
    }
    if (companyId !== null) return installCompany(companyId, tokens);
    log.error({ event: 'oauth.no_owner' }, 'tokens not stored, they name neither a location nor a company');
    return { kind: 'failed' };
  };

  async function installCompany(companyId: string, tokens: IssuedTokens): Promise<InstallOutcome> {
    const company = await grants.store({
      kind: 'company',
      ownerId: companyId,
      companyId,
      ...stored(tokens),
    });
    if (company === undefined) {
      log.warn(
        { event: 'oauth.company_uninstalled', companyId },
        'tokens not stored, the company uninstalled the app',
      );
      return { kind: 'failed' };
    }
    const expected = await grants.expected(clock.now() - EXPECTED_MS);
    const announced = expected
      .filter((grant) => (grant.companyId ?? companyId) === companyId)
      .map(({ ownerId }) => ownerId);
    const listed = await listLocations(tokens.accessToken, companyId);
    if (listed === undefined && tokens.approvedLocations.length + announced.length === 0) {
      log.error(
        { event: 'oauth.no_locations', companyId },
        'company authorised the app, its locations are unknown',
      );
      return { kind: 'failed' };
    }
    const respondBy = clock.sleep(RESPOND_WITHIN_MS);
    const owned = new Set([...(listed ?? []), ...tokens.approvedLocations]);
    const wanted = [...owned.union(new Set(announced))];
    const waiting = [...wanted];
    const locations: string[] = [];
    const failed: string[] = [];
    const worker = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const isStored = await mint(tokens.accessToken, companyId, next);
        (isStored ? locations : failed).push(next);
        requesting.delete(next);
      }
    };
    const mintAll = async () => {
      await expectAll(owned, companyId, tokens.issuedAt);
      await Promise.all(Array.from({ length: MINTS_AT_ONCE }, worker));
      log.info(
        {
          event: 'oauth.company_authorised',
          companyId,
          locations: locations.length,
          failed: failed.length,
        },
        'company authorised the app',
      );
    };
    for (const ownerId of wanted) requesting.add(ownerId);
    await Promise.race([mintAll(), respondBy]);
    return {
      kind: 'company',
      companyId,
      locations: [...locations],
      failed: [...failed],
      later: wanted.length - locations.length - failed.length,
    };
  }

  async function listLocations(companyToken: string, companyId: string): Promise<string[] | undefined> {
    const listed: string[] = [];
    for (let skip: number | undefined = 0; skip !== undefined;) {
      const from: number = skip;
      const page = await retry({
        attempt: () => endpoint.installedLocations(companyToken, companyId, from),
        policy: RETRY_POLICY,
        clock,
      });
      if (!page.ok) return listed.length > 0 ? listed : undefined;
      listed.push(...page.value.locations);
      skip = page.value.nextSkip;
    }
    return listed;
  }

  /** Never rejects. Locations whose tokens are missing after a restart or a failure are requested again, like announced ones. */
  async function expectAll(
    locationIds: Iterable<string>,
    companyId: string,
    at: number | undefined,
  ): Promise<void> {
    try {
      for (const ownerId of locationIds) await grants.expect({ kind: 'location', ownerId, companyId, at });
    } catch (error) {
      log.warn(
        { event: 'oauth.locations_not_recorded', companyId, err: error },
        'locations of a company not recorded; tokens still missing after a restart are not requested',
      );
    }
  }

  /** Never rejects: the other locations of the company must get their tokens. */
  async function mint(companyToken: string, companyId: string, locationId: string): Promise<boolean> {
    const requestedAt = clock.now();
    try {
      const issued = await retry({
        attempt: () => endpoint.mint(companyToken, companyId, locationId),
        policy: RETRY_POLICY,
        clock,
      });
      if (issued.ok) return await storeLocation(locationId, companyId, issued.value, true);
      log.warn(
        { event: 'oauth.location_token_failed', locationId, companyId, reason: issued.reason },
        'no tokens for a location of a company',
      );
      await recordRefusal(issued, { ownerId: locationId, companyId, requestedAt });
    } catch (error) {
      log.warn(
        { event: 'oauth.location_token_failed', locationId, companyId, err: error },
        'no tokens for a location of a company',
      );
    }
    return false;
  }

  /** Resolves with false when the app was uninstalled after the tokens were issued. */
  async function storeLocation(
    locationId: string,
    companyId: string | null,
    tokens: IssuedTokens,
    isDerived = false,
  ): Promise<boolean> {
    const grant = await grants.store({
      kind: 'location',
      ownerId: locationId,
      companyId,
      isDerived,
      ...stored(tokens),
    });
    if (grant === undefined)
      log.warn(
        { event: 'oauth.location_uninstalled', locationId },
        'tokens not stored, the location uninstalled the app',
      );
    else await announce(locationId);
    return grant !== undefined;
  }

  function stored({ accessToken, refreshToken, expiresInSec, issuedAt }: IssuedTokens) {
    return { accessToken, refreshToken, issuedAt, expiresAt: clock.now() + expiresInSec * 1000 };
  }
}
