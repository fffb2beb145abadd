import { randomBytes } from 'node:crypto';

import { FakeClock } from '@footbridge/testkit/fake-clock';
import { silentLog } from '@footbridge/testkit/silent-log';
import { onTestFinished } from 'vitest';

import { failed, succeeded } from '../../platform/retry/retry.ts';
import type { Attempt } from '../../platform/retry/retry.ts';
import { createMemoryChanges } from '../../platform/changes/changes-memory.ts';
import { createGrants } from './grants-sql.ts';
import type { Grants } from './grants-sql.ts';
import { createVault } from './vault.ts';
import { openDatabase } from '../../platform/sql/open-database.ts';
import type { IssuedTokens, LocationPage, TokenEndpoint } from './token-endpoint.ts';
import { createTokens } from './tokens.ts';
import type { Tokens } from './tokens.ts';

export const DAY_SEC = 86_400;
export const DAY_MS = DAY_SEC * 1000;

/** A token endpoint whose refresh tokens work once, like the real one's. */
class Endpoint implements TokenEndpoint {
  refreshes = 0;
  mints = 0;
  result: Attempt<IssuedTokens> | undefined;
  /** Runs between request and response. */
  pause: () => Promise<unknown> = async () => {};
  keepsRefreshToken = false;
  #valid = new Set<string>();
  #count = 0;

  issue(locationId: string | null = 'loc1', companyId: string | null = null): IssuedTokens {
    const number = ++this.#count;
    const refreshToken = `refresh-${number}`;
    this.#valid.add(refreshToken);
    return {
      accessToken: `access-${number}`,
      refreshToken: this.keepsRefreshToken ? null : refreshToken,
      expiresInSec: DAY_SEC,
      userType: locationId === null ? 'Company' : 'Location',
      companyId,
      locationId,
      approvedLocations: [],
    };
  }

  async exchange(): Promise<Attempt<IssuedTokens>> {
    return succeeded(this.issue());
  }

  async refresh(refreshToken: string): Promise<Attempt<IssuedTokens>> {
    this.refreshes++;
    await this.pause();
    if (this.result !== undefined) return this.result;
    const works = this.#valid.has(refreshToken);
    if (!this.keepsRefreshToken) this.#valid.delete(refreshToken);
    return works
      ? succeeded(this.issue())
      : failed('invalid', { retryable: false, reason: '400 Invalid grant: refresh token is invalid' });
  }

  async mint(_token: string, companyId: string, locationId: string): Promise<Attempt<IssuedTokens>> {
    this.mints++;
    return succeeded(this.issue(locationId, companyId));
  }

  async tryToken(): Promise<Attempt<unknown>> {
    return succeeded(undefined);
  }

  async installedLocations(
    ..._given: Parameters<TokenEndpoint['installedLocations']>
  ): Promise<Attempt<LocationPage>> {
    return page(['locA', 'locB']);
  }
}

interface SetUp {
  clock: FakeClock;
  endpoint: Endpoint;
  grants: Grants;
  tokens: Tokens;
  /** Another process on the same store. */
  another: () => Tokens;
  authorise: () => Promise<void>;
}

export async function setUp(
  wrap: (grants: Grants) => Grants = (grants) => grants,
  thresholdSec = 300,
): Promise<SetUp> {
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  onTestFinished(() => database.close());
  const clock = new FakeClock();
  const endpoint = new Endpoint();
  const grants = wrap(createGrants({ database, clock, vault: createVault([randomBytes(32)]) }));
  const changes = createMemoryChanges(silentLog);
  const another = () =>
    createTokens({
      oauth: { grants, endpoint, thresholdSec },
      privateToken: undefined,
      changes,
      clock,
      log: silentLog,
      failpoint: undefined,
    });
  const authorise = async () => {
    const { accessToken, refreshToken } = endpoint.issue();
    const expiresAt = clock.now() + DAY_MS;
    await grants.store({
      kind: 'location',
      ownerId: 'loc1',
      companyId: null,
      accessToken,
      refreshToken,
      expiresAt,
    });
  };
  return { clock, endpoint, grants, tokens: another(), another, authorise };
}

export const page = (locations: string[], nextSkip?: number): Attempt<LocationPage> =>
  succeeded({ locations, nextSkip });
/** The CRM issues no tokens for a location. */
export const REFUSED = failed('refused', {
  retryable: false,
  status: 400,
  reason: '400 Location not found',
});
export const bearerOf = (token: string) => ({ authorization: `Bearer ${token}` });
