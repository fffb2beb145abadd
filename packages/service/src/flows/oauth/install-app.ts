import { sleep } from '../../clock.ts';
import type { Clock } from '../../clock.ts';
import type { Logger } from '../../log.ts';
import type { Grants } from '../../ports/grants/grants.ts';
import type { IssuedTokens, TokenEndpoint } from './token-endpoint.ts';

export type InstallOutcome =
  | { readonly kind: 'location'; readonly locationId: string; readonly companyId: string | null }
  /** `later`: locations whose tokens are still being fetched when the answer goes out. */
  | {
      readonly kind: 'company';
      readonly companyId: string;
      readonly locations: readonly string[];
      readonly failed: readonly string[];
      readonly later: number;
    }
  /** The CRM does not accept the code. */
  | { readonly kind: 'rejected' }
  | { readonly kind: 'failed' };

export interface InstallDeps {
  readonly grants: Grants;
  readonly endpoint: TokenEndpoint;
  readonly clock: Clock;
  readonly log: Logger;
  readonly announce: (ownerId: string) => Promise<void>;
}

const MINTS_AT_ONCE = 4;
const TRIES = 3;
const AGAIN_MS = 2000;
const ANSWER_WITHIN_MS = 8000;

/** What the OAuth callback does with a code: tokens of a location are stored, those of a company buy the tokens of its locations (O1, O9). */
export function createInstallApp(deps: InstallDeps): (code: string) => Promise<InstallOutcome> {
  const { grants, endpoint, clock, log, announce } = deps;

  return async function installApp(code) {
    const outcome = await endpoint.exchange(code);
    if (outcome.kind === 'away') {
      log.error({ reason: outcome.reason }, 'the CRM did not exchange an authorisation code');
      return { kind: 'failed' };
    }
    if (outcome.kind !== 'issued') {
      log.warn({ reason: outcome.reason }, 'the CRM rejected an authorisation code');
      return { kind: 'rejected' };
    }
    const { tokens } = outcome;
    const { locationId, companyId } = tokens;
    if (locationId !== null) {
      await storeLocation(locationId, companyId, tokens);
      log.info({ locationId }, 'a location authorised us');
      return { kind: 'location', locationId, companyId };
    }
    if (companyId !== null) return installCompany(companyId, tokens);
    log.error({}, 'the CRM issued tokens that belong to no location and no company');
    return { kind: 'failed' };
  };

  async function installCompany(companyId: string, tokens: IssuedTokens): Promise<InstallOutcome> {
    await grants.store({ kind: 'company', ownerId: companyId, companyId, ...stored(tokens) });
    const listed = await listLocations(tokens.accessToken, companyId);
    if (listed === undefined && tokens.approvedLocations.length === 0) {
      log.error({ companyId }, 'a company authorised us, but the CRM does not say for which locations');
      return { kind: 'failed' };
    }
    const wanted = [...new Set([...(listed ?? []), ...tokens.approvedLocations])];
    const waiting = [...wanted];
    const locations: string[] = [];
    const failed: string[] = [];
    const worker = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        ((await mint(tokens.accessToken, companyId, next)) ? locations : failed).push(next);
    };
    const all = Promise.all(Array.from({ length: MINTS_AT_ONCE }, worker)).then(() =>
      log.info({ companyId, locations: locations.length, failed: failed.length }, 'a company authorised us'),
    );
    await Promise.race([all, sleep(clock, ANSWER_WITHIN_MS)]);
    return {
      kind: 'company',
      companyId,
      locations: [...locations],
      failed: [...failed],
      later: wanted.length - locations.length - failed.length,
    };
  }

  async function listLocations(companyToken: string, companyId: string): Promise<string[] | undefined> {
    for (let tries = 1; ; tries++) {
      const listed = await endpoint.installedLocations(companyToken, companyId);
      if (listed !== undefined || tries === TRIES) return listed;
      await sleep(clock, AGAIN_MS);
    }
  }

  async function mint(companyToken: string, companyId: string, locationId: string): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      const outcome = await endpoint.mint(companyToken, companyId, locationId);
      if (outcome.kind === 'issued') {
        await storeLocation(locationId, companyId, outcome.tokens);
        return true;
      }
      if (outcome.kind !== 'away' || tries === TRIES) {
        log.warn({ locationId, companyId, reason: outcome.reason }, 'no tokens for a location of a company');
        return false;
      }
      await sleep(clock, AGAIN_MS);
    }
  }

  async function storeLocation(
    locationId: string,
    companyId: string | null,
    tokens: IssuedTokens,
  ): Promise<void> {
    await grants.store({ kind: 'location', ownerId: locationId, companyId, ...stored(tokens) });
    await announce(locationId);
  }

  function stored({ accessToken, refreshToken, expiresInSec }: IssuedTokens) {
    return { accessToken, refreshToken, expiresAt: clock.now() + expiresInSec * 1000 };
  }
}
