import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startCrm } from '../crm.ts';
import type { Crm } from '../crm.ts';
import { responseProblems } from '../openapi.ts';
import { createCleanup } from '../cleanup.ts';
import { request, tokenForm } from './test-client.ts';

const cleanup = createCleanup();
let crm: Crm;
let clock = 0;

beforeEach(async () => {
  clock = Date.parse('2026-03-01T12:00:00Z');
  crm = await startCrm({ now: () => clock });
  cleanup.add(() => crm.stop());
});
afterEach(() => cleanup.run());

const exchange = (code: string) =>
  request(crm, 'POST /oauth/token', {
    version: null,
    form: tokenForm(crm, { grant_type: 'authorization_code', code }),
  });
const refresh = (refresh_token: unknown) =>
  request(crm, 'POST /oauth/token', {
    version: null,
    form: tokenForm(crm, { grant_type: 'refresh_token', refresh_token: String(refresh_token) }),
  });
const works = async (token: unknown) =>
  (await request(crm, 'GET /contacts/search/duplicate?locationId=LocA&number=1', { token: String(token) }))
    .status;

describe('exchanging a code', () => {
  it('returns the tokens of the location once', async () => {
    const code = crm.install({ locationId: 'LocA' });
    const first = await exchange(code);
    expect(first.status).toBe(200);
    expect(first.body).toMatchObject({
      token_type: 'Bearer',
      expires_in: 86_399,
      userType: 'Location',
      locationId: 'LocA',
    });
    expect(responseProblems('token', first.status, first.body)).toEqual([]);
    expect(String(first.body['access_token']).split('.')).toHaveLength(3);
    expect(await works(first.body['access_token'])).toBe(200);
    const second = await exchange(code);
    expect(second.status).toBe(401);
    expect(second.body).toMatchObject({
      error: 'UnAuthorized!',
      error_description: 'Authorization code not found',
    });
  });

  it('accepts JSON and form data', async () => {
    const body = tokenForm(crm, {
      grant_type: 'authorization_code',
      code: crm.install({ locationId: 'LocA' }),
    });
    expect((await request(crm, 'POST /oauth/token', { body })).body).toMatchObject({ locationId: 'LocA' });
  });

  it('rejects wrong client credentials without consuming the code', async () => {
    const code = crm.install({ locationId: 'LocA' });
    const form = { ...tokenForm(crm, { grant_type: 'authorization_code', code }), client_secret: 'wrong' };
    expect((await request(crm, 'POST /oauth/token', { form })).status).toBe(401);
    expect((await exchange(code)).status).toBe(200);
  });

  it.each(['client_id', 'client_secret', 'grant_type'])('names the missing parameter %s', async (name) => {
    const form = tokenForm(crm, { grant_type: 'authorization_code', code: 'x' });
    delete form[name];
    const answer = await request(crm, 'POST /oauth/token', { form });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ error_description: `Missing parameter: \`${name}\`` });
  });
});

describe('refreshing', () => {
  it('rotates the refresh token, which is single-use', async () => {
    const first = crm.token('LocA');
    const second = await refresh(first.refresh_token);
    expect(second.status).toBe(200);
    expect(second.body['refresh_token']).not.toBe(first.refresh_token);
    const reused = await refresh(first.refresh_token);
    expect(reused.status).toBe(400);
    expect(reused.body).toMatchObject({
      error: 'invalid_grant',
      error_description: 'Invalid grant: refresh token is invalid',
    });
    expect((await refresh(second.body['refresh_token'])).status).toBe(200);
  });

  it('succeeds once among concurrent requests', async () => {
    const { refresh_token } = crm.token('LocA');
    const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(refresh_token)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it('is rejected while the location is inactive and succeeds with the same token afterwards', async () => {
    const { refresh_token } = crm.token('LocA');
    crm.setActive('LocA', false);
    const paused = await refresh(refresh_token);
    expect(paused.status).toBe(400);
    expect(paused.body).toMatchObject({ message: 'Location is not active' });
    expect(responseProblems('token', paused.status, paused.body)).toEqual([]);
    crm.setActive('LocA', true);
    expect((await refresh(refresh_token)).status).toBe(200);
  });

  it('is rejected for a revoked grant', async () => {
    const { access_token, refresh_token } = crm.token('LocA');
    crm.revoke('LocA');
    expect(await works(access_token)).toBe(401);
    expect((await refresh(refresh_token)).body).toMatchObject({ error: 'invalid_grant' });
  });

  it('replaces an expired token', async () => {
    crm.settings.expiresInSec = 60;
    const first = crm.token('LocA');
    clock += 59_000;
    expect(await works(first.access_token)).toBe(200);
    clock += 1_000;
    expect(await works(first.access_token)).toBe(401);
    const second = await refresh(first.refresh_token);
    expect(await works(second.body['access_token'])).toBe(200);
    crm.expireTokens('LocA');
    expect(await works(second.body['access_token'])).toBe(401);
  });
});

describe('an agency install', () => {
  const company = async () => {
    const code = crm.install({ companyId: 'Comp1', locations: ['LocA', 'LocB', 'LocC'] });
    return (await exchange(code)).body;
  };
  const appId = () => crm.settings.clientId.split('-')[0] ?? '';

  it('returns a company token without a location', async () => {
    const answer = await company();
    expect(answer).toMatchObject({ userType: 'Company', companyId: 'Comp1' });
    expect(answer).not.toHaveProperty('locationId');
  });

  it('lists the installed locations in pages', async () => {
    const token = String((await company())['access_token']);
    const list = async (query: string) =>
      request(crm, `GET /oauth/installedLocations?companyId=Comp1&appId=${appId()}${query}`, { token });
    const all = await list('');
    expect(responseProblems('installedLocations', all.status, all.body)).toEqual([]);
    expect(all.body).toMatchObject({
      count: 3,
      locations: [{ _id: 'LocA' }, { _id: 'LocB' }, { _id: 'LocC' }],
    });
    expect((await list('&skip=2&limit=5')).body['locations']).toMatchObject([{ _id: 'LocC' }]);
    expect((await request(crm, 'GET /oauth/installedLocations?appId=x', { token })).status).toBe(422);
  });

  it('can be exchanged for the tokens of its locations only', async () => {
    const token = String((await company())['access_token']);
    const buy = (locationId: string) =>
      request(crm, 'POST /oauth/locationToken', { token, form: { companyId: 'Comp1', locationId } });
    const bought = await buy('LocA');
    expect(bought.status).toBe(201);
    expect(bought.body).toMatchObject({ userType: 'Location', locationId: 'LocA', companyId: 'Comp1' });
    expect(responseProblems('locationToken', bought.status, bought.body)).toEqual([]);
    expect(await works(bought.body['access_token'])).toBe(200);
    expect((await buy('Elsewhere')).status).toBe(400);
  });

  it('is required for a location token: location and private integration tokens are rejected', async () => {
    for (const token of [crm.token('LocA').access_token, crm.pit('LocA')]) {
      const form = { companyId: 'Comp1', locationId: 'LocA' };
      const answer = await request(crm, 'POST /oauth/locationToken', { token, form });
      expect(answer.status).toBe(401);
      expect(answer.body).toMatchObject({ message: "Token's user type mismatch!" });
    }
  });
});
