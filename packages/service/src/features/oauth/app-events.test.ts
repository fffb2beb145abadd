import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import { failed, succeeded } from '../../platform/retry/retry.ts';
import { DAY_MS, page, REFUSED, setUp } from './tokens.fixture.ts';
import type { Tokens } from './tokens.ts';

const MINUTE_MS = 60_000;
const PAUSED = failed('inactive', { retryable: false, status: 400, reason: '400 Location is not active' });

/** A company that authorised the app while the CRM had no tokens for its location `locA`. */
async function setUpListed() {
  const all = await setUp();
  const { tokens, endpoint, grants, clock } = all;
  const mint = endpoint.mint.bind(endpoint);
  endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
  endpoint.installedLocations = async () => page(['locA']);
  endpoint.mint = async () => failed('unavailable', { status: 503, reason: '503' });
  const install = async (by: Tokens) => {
    const outcome = by.install('code');
    for (let second = 0; second < 8; second++) await clock.advance(1000);
    expect(await outcome).toMatchObject({ locations: [], failed: expect.arrayContaining(['locA']) });
  };
  await install(tokens);
  const stateOf = async (locationId: string) => (await grants.find('location', locationId))?.state;
  const serve = () => tokens.appEvents?.serveExpected();
  const announce = (locationId: string, companyId: string | null = 'comp1') =>
    tokens.appEvents?.handle({ type: 'INSTALL', locationId, companyId, at: undefined, isRepeat: false });
  return { ...all, mint, install, stateOf, serve, announce };
}

describe('an expected location', () => {
  it('A6 has no tokens when the CRM has refused them for an hour', async () => {
    const { tokens, endpoint, clock, stateOf, serve } = await setUpListed();
    expect(await tokens.bearer('locA', 'oauth')).toEqual({ missing: 'reauth_required' });
    endpoint.mint = async () => REFUSED;
    await serve();
    await clock.advance(60 * MINUTE_MS);
    await serve();
    expect(await stateOf('locA')).toBeUndefined();
    expect(await tokens.bearer('locA', 'oauth')).toEqual({ missing: 'none' });
  });

  it.each([
    ['an overloaded CRM', failed('unavailable', { status: 429, reason: '429' })],
    ['a failing CRM', failed('unavailable', { status: 502, reason: '502' })],
    ['a timeout', failed('unavailable', { reason: 'timeout' })],
    [
      'a rejected token of its company',
      failed('refused', { retryable: false, status: 401, reason: '401 Invalid JWT' }),
    ],
    [
      'a token of its company without the scope',
      failed('refused', { retryable: false, status: 403, reason: '403 Forbidden' }),
    ],
    ['a paused location', PAUSED],
  ] as const)('E2 is served later after %s', async (_what, failure) => {
    const { endpoint, mint, clock, stateOf, serve } = await setUpListed();
    endpoint.mint = async () => failure;
    await serve();
    await clock.advance(2 * 60 * MINUTE_MS);
    await serve();
    expect(await stateOf('locA')).toBe('expected');
    endpoint.mint = mint;
    await serve();
    expect(await stateOf('locA')).toBe('active');
  });

  it('E2 is requested again for an hour after the CRM first refused its tokens', async () => {
    const { endpoint, mint, clock, stateOf, serve, announce } = await setUpListed();
    await announce('locB');
    await clock.advance(2 * 60 * MINUTE_MS);
    endpoint.mint = async () => REFUSED;
    await serve();
    await clock.advance(59 * MINUTE_MS);
    await serve();
    expect([await stateOf('locA'), await stateOf('locB')]).toEqual(['expected', 'expected']);
    endpoint.mint = async (...given) => (given[2] === 'locA' ? mint(...given) : REFUSED);
    await clock.advance(MINUTE_MS);
    await serve();
    expect([await stateOf('locA'), await stateOf('locB')]).toEqual(['active', undefined]);
  });

  it('A6 has no tokens when none came within a day', async () => {
    const { tokens, endpoint, clock, stateOf, serve } = await setUpListed();
    endpoint.mint = async () => PAUSED;
    await clock.advance(DAY_MS + 1);
    await serve();
    expect(await stateOf('locA')).toBeUndefined();
    expect(await tokens.bearer('locA', 'oauth')).toEqual({ missing: 'none' });
  });

  it('E2 is requested from the company that the CRM announced last', async () => {
    const { endpoint, mint, grants, clock, stateOf, serve, announce } = await setUpListed();
    const issued = { accessToken: 'access', refreshToken: 'refresh', expiresAt: clock.now() + DAY_MS };
    await grants.store({ kind: 'company', ownerId: 'comp2', companyId: 'comp2', ...issued });
    endpoint.mint = async (...given) => (given[1] === 'comp2' ? mint(...given) : REFUSED);
    await announce('locA', 'comp2');
    await serve();
    expect(await stateOf('locA')).toBe('active');
  });

  it('E2 of an unknown company is not removed because another company has no tokens for it', async () => {
    const { endpoint, clock, stateOf, serve, announce } = await setUpListed();
    endpoint.mint = async () => REFUSED;
    await announce('locB', null);
    await serve();
    await clock.advance(DAY_MS / 2);
    await serve();
    expect([await stateOf('locA'), await stateOf('locB')]).toEqual([undefined, 'expected']);
  });

  it('E2 stays expected for a day after a second announcement', async () => {
    const { endpoint, mint, clock, stateOf, serve, announce } = await setUpListed();
    await clock.advance(DAY_MS + 1);
    await announce('locA');
    endpoint.mint = mint;
    await serve();
    expect(await stateOf('locA')).toBe('active');
  });

  it.each([
    ['the CRM announces it', 'announced'],
    ['its company authorises the app again', 'listed'],
  ] as const)('E2 stays expected when %s during a request that the CRM refuses', async (_what, how) => {
    const { another, endpoint, grants, clock, install, stateOf, serve, announce } = await setUpListed();
    const unavailable = endpoint.mint.bind(endpoint);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    let isRequested = false;
    endpoint.mint = async () => {
      endpoint.mint = unavailable;
      isRequested = true;
      await held;
      return REFUSED;
    };
    await grants.refuse({ ownerId: 'locA', companyId: 'comp1', requestedAt: clock.now(), firstUntil: 0 });
    await clock.advance(60 * MINUTE_MS);
    const round = serve();
    await until(() => isRequested);
    await clock.advance(1);
    if (how === 'announced') await announce('locA');
    else await install(another());
    release();
    await round;
    expect(await stateOf('locA')).toBe('expected');
  });
});
