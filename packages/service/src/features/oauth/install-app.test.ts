import { until } from '@footbridge/testkit/until';
import { describe, expect, it } from 'vitest';

import { EngineError } from '../../platform/errors.ts';
import { failed, succeeded } from '../../platform/retry/retry.ts';
import type { Attempt } from '../../platform/retry/retry.ts';
import type { InstallOutcome } from './install-app.ts';
import type { LocationPage } from './token-endpoint.ts';
import { page, REFUSED, setUp } from './tokens.fixture.ts';

describe('an authorisation', () => {
  it('O9 of a company stores the tokens of its locations', async () => {
    const { tokens, endpoint, grants } = await setUp();
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    expect(await tokens.install('code')).toEqual({
      kind: 'company',
      companyId: 'comp1',
      locations: expect.arrayContaining(['locA', 'locB']),
      failed: [],
      later: 0,
    });
    const stored = await grants.list();
    expect(stored.map(({ kind, ownerId }) => `${kind} ${ownerId}`)).toEqual([
      'company comp1',
      'location locA',
      'location locB',
    ]);
  });

  it('O9 of a company repeats the request for its locations, and fails when they remain unknown', async () => {
    const { tokens, endpoint, clock } = await setUp();
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    const pages: Attempt<LocationPage>[] = [failed('unavailable'), page(['locA'])];
    endpoint.installedLocations = async () => pages.shift() ?? failed('unavailable');
    const install = async () => {
      const outcome = tokens.install('code');
      for (let second = 0; second < 8; second++) await clock.advance(1000);
      return outcome;
    };
    expect(await install()).toMatchObject({ kind: 'company', locations: ['locA'] });
    expect(await install()).toEqual({ kind: 'failed' });
    pages.push(page([]));
    expect(await install()).toMatchObject({ kind: 'company', locations: [] });
  });

  it('O9 of a company reads its locations page by page, and repeats a page that fails', async () => {
    const { tokens, endpoint, clock } = await setUp();
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    const skips: number[] = [];
    const pages = [page(['locA'], 100), failed('unavailable'), page(['locB'])];
    endpoint.installedLocations = async (_token, _company, skip) => {
      skips.push(skip);
      return pages.shift() ?? failed('unavailable');
    };
    const installed = tokens.install('code');
    for (let second = 0; second < 8; second++) await clock.advance(1000);
    expect(await installed).toMatchObject({
      kind: 'company',
      locations: expect.arrayContaining(['locA', 'locB']),
    });
    expect(skips).toEqual([0, 100, 100]);
  });

  it('O9 of a company is answered in time when it has many locations, and continues', async () => {
    const { tokens, endpoint, clock, grants } = await setUp();
    const locations = Array.from({ length: 6 }, (_, index) => `loc${index}`);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const mint = endpoint.mint.bind(endpoint);
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    endpoint.installedLocations = async () => page(locations);
    endpoint.mint = async (...args) => {
      if (args[2] === 'loc5') await held;
      return mint(...args);
    };
    const outcome = tokens.install('code');
    await clock.advance(1);
    await clock.advance(8000);
    expect(await outcome).toMatchObject({ kind: 'company', later: 1, failed: [] });
    release();
    await until(async () => (await grants.find('location', 'loc5'))?.state === 'active');
  });

  it('O9 of a company is answered in time while many locations are being recorded', async () => {
    let recorded = 0;
    const { clock, endpoint, tokens } = await setUp((real) => ({
      ...real,
      async expect(event) {
        recorded++;
        await clock.sleep(10);
        return real.expect(event);
      },
    }));
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    endpoint.installedLocations = async () => page(Array.from({ length: 2000 }, (_, index) => `loc${index}`));
    let outcome: InstallOutcome | undefined;
    void tokens.install('code').then((result) => (outcome = result));
    await until(() => recorded > 0);
    await clock.advance(8000);
    expect(outcome).toMatchObject({ kind: 'company', locations: [], failed: [], later: 2000 });
  });

  it('O9 of a company requests the tokens of each location once, also while expected ones are served', async () => {
    const { tokens, endpoint, clock, grants } = await setUp();
    const requested: string[] = [];
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    endpoint.mint = async (_token, companyId, locationId) => {
      if (requested.push(locationId) <= 2) await held;
      return succeeded(endpoint.issue(locationId, companyId));
    };
    const outcome = tokens.install('code');
    await until(() => requested.length === 2);
    await clock.advance(8000);
    expect(await outcome).toMatchObject({ later: 2 });
    await tokens.appEvents?.serveExpected();
    release();
    await until(async () => (await grants.expected(0)).length === 0);
    expect(requested).toEqual(['locA', 'locB']);
  });

  it('O9 of a company is completed by the next process after a restart', async () => {
    const { tokens, another, endpoint, clock, grants } = await setUp();
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    const mint = endpoint.mint.bind(endpoint);
    endpoint.mint = () => new Promise(() => {});
    const outcome = tokens.install('code');
    await until(async () => (await grants.expected(0)).length === 2);
    await clock.advance(8000);
    expect(await outcome).toMatchObject({ kind: 'company', locations: [], later: 2 });
    endpoint.mint = mint;
    await another().appEvents?.serveExpected();
    expect(await grants.ofLocations(['locA', 'locB'])).toMatchObject([
      { state: 'active', companyId: 'comp1' },
      { state: 'active', companyId: 'comp1' },
    ]);
  });

  it('O9 of a company does not claim a location that was announced without its company', async () => {
    const { tokens, endpoint, grants } = await setUp();
    await grants.expect({ kind: 'location', ownerId: 'other', companyId: null, at: undefined });
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    endpoint.mint = async () => failed('refused', { retryable: false, reason: '400 not installed' });
    expect(await tokens.install('code')).toMatchObject({
      failed: expect.arrayContaining(['locA', 'locB', 'other']),
    });
    expect(await grants.find('location', 'other')).toMatchObject({ state: 'expected', companyId: null });
  });

  it('E2 of a company serves a location later whose tokens the CRM refuses at first', async () => {
    const { tokens, another, endpoint, grants } = await setUp();
    const mint = endpoint.mint.bind(endpoint);
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    endpoint.mint = async () => REFUSED;
    expect(await tokens.install('code')).toMatchObject({ failed: expect.arrayContaining(['locA', 'locB']) });
    expect(await grants.find('location', 'locA')).toMatchObject({ state: 'expected' });
    endpoint.mint = mint;
    await another().appEvents?.serveExpected();
    expect(await grants.find('location', 'locA')).toMatchObject({ state: 'active' });
  });

  it('O9 of a company stores all tokens although the database failed to record the locations', async () => {
    let failures = 1;
    const { tokens, endpoint } = await setUp((real) => ({
      ...real,
      expect: (event) =>
        failures-- > 0 ? Promise.reject(new EngineError('sql', 'away')) : real.expect(event),
    }));
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    expect(await tokens.install('code')).toMatchObject({
      kind: 'company',
      locations: expect.arrayContaining(['locA', 'locB']),
      failed: [],
    });
  });

  it('O9 of a company continues after the database fails, and the location it failed for is served later', async () => {
    const full = new Set(['locA']);
    const { tokens, endpoint, grants } = await setUp((real) => ({
      ...real,
      store: (grant) =>
        full.delete(grant.ownerId) ? Promise.reject(new EngineError('sql', 'full')) : real.store(grant),
    }));
    const locations = ['locA', ...Array.from({ length: 6 }, (_, index) => `loc${index}`)];
    endpoint.exchange = async () => succeeded(endpoint.issue(null, 'comp1'));
    endpoint.installedLocations = async () => page(locations);
    expect(await tokens.install('code')).toMatchObject({
      locations: expect.arrayContaining(locations.slice(1)),
      failed: ['locA'],
      later: 0,
    });
    await tokens.appEvents?.serveExpected();
    expect(await grants.find('location', 'locA')).toMatchObject({ state: 'active' });
  });

  it.each([
    ['rejected by the CRM', failed('invalid', { retryable: false, reason: '401' }), 'rejected'],
    ['not answered by the CRM', failed('unavailable', { reason: '503' }), 'failed'],
  ] as const)('O5 whose code is %s ends as %3$s', async (_what, result, kind) => {
    const { tokens, endpoint } = await setUp();
    endpoint.exchange = async () => result;
    expect(await tokens.install('code')).toEqual({ kind });
  });
});
