import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startCrm } from '../crm.ts';
import type { Crm } from '../crm.ts';
import { responseProblems } from '../openapi.ts';
import { createCleanup } from '../cleanup.ts';
import { request } from './test-client.ts';

const cleanup = createCleanup();
let crm: Crm;
let clock = 0;

beforeEach(async () => {
  clock = Date.now();
  crm = await startCrm({ now: () => clock });
  cleanup.add(() => crm.stop());
});
afterEach(() => cleanup.run());

const SEARCH = 'GET /contacts/search/duplicate?locationId=LocA&number=%2B15550001111';

describe('the version header', () => {
  it.each([
    { version: null, status: 401, message: 'version header was not found.' },
    { version: 'x', status: 400, message: "Invalid API version segment 'x' at position 0" },
  ])('$version is rejected with $status', async ({ version, status, message }) => {
    const answer = await request(crm, SEARCH, { token: crm.token('LocA').access_token, version });
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject({ message });
    expect(responseProblems('duplicate', status, answer.body)).toEqual([]);
  });

  it.each(['2021-04-15', '2021-07-28', '2023-02-21', 'v3'])('%s is accepted', async (version) => {
    expect((await request(crm, SEARCH, { token: crm.token('LocA').access_token, version })).status).toBe(200);
  });
});

describe('the token', () => {
  it.each([
    {
      why: 'missing',
      token: () => undefined,
      status: 401,
      message: 'Invalid token: access token is invalid',
    },
    { why: 'unknown', token: () => 'abc', status: 401, message: 'Invalid token: access token is invalid' },
    {
      why: 'expired',
      token: () => {
        const { access_token } = crm.token('LocA');
        clock += 86_399_000;
        return access_token;
      },
      status: 401,
      message: 'Invalid JWT',
    },
    {
      why: 'of another location',
      token: () => crm.token('LocB').access_token,
      status: 403,
      message: 'The token does not have access to this location.',
    },
    {
      why: 'a private integration token of another location',
      token: () => crm.pit('LocB'),
      status: 403,
      message: 'The token does not have access to this location.',
    },
  ])('is rejected with $status if it is $why', async ({ token, status, message }) => {
    const given = token();
    const answer = await request(crm, SEARCH, given === undefined ? {} : { token: given });
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject({ message });
  });

  it('grants only its scopes', async () => {
    const code = crm.install({ locationId: 'LocA', scopes: ['contacts.readonly'] });
    const form = {
      client_id: crm.settings.clientId,
      client_secret: crm.settings.clientSecret,
      grant_type: 'authorization_code',
      code,
    };
    const token = String((await request(crm, 'POST /oauth/token', { form })).body['access_token']);
    expect((await request(crm, SEARCH, { token })).status).toBe(200);
    const refused = await request(crm, 'POST /contacts/', { token, body: { locationId: 'LocA' } });
    expect(refused.status).toBe(401);
    expect(refused.body).toMatchObject({ message: 'The token is not authorized for this scope.' });
  });

  it('can be a private integration token', async () => {
    expect((await request(crm, SEARCH, { token: crm.pit('LocA') })).status).toBe(200);
  });
});

describe('rate limits', () => {
  it('allow 100 calls per location in 10 s and are reported in every response', async () => {
    const a = crm.token('LocA').access_token;
    const first = await request(crm, SEARCH, { token: a });
    expect(Object.fromEntries(first.headers)).toMatchObject({
      'x-ratelimit-max': '100',
      'x-ratelimit-remaining': '99',
      'x-ratelimit-interval-milliseconds': '10000',
      'x-ratelimit-limit-daily': '200000',
      'x-ratelimit-daily-remaining': '199999',
    });
    const rest = await Promise.all(Array.from({ length: 109 }, () => request(crm, SEARCH, { token: a })));
    expect(rest.filter(({ status }) => status === 200)).toHaveLength(99);
    const refused = rest.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(10);
    expect(refused[0]?.headers.get('x-ratelimit-remaining')).toBe('0');
    const other = 'GET /contacts/search/duplicate?locationId=LocB&number=1';
    expect((await request(crm, other, { token: crm.pit('LocB') })).status).toBe(200);
    clock += 10_000;
    expect((await request(crm, SEARCH, { token: a })).status).toBe(200);
  });

  it('include a daily limit', async () => {
    crm.settings.rateLimit = { max: 100, intervalMs: 10, daily: 2 };
    const token = crm.pit('LocA');
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++) {
      statuses.push((await request(crm, SEARCH, { token })).status);
      clock += 10;
    }
    expect(statuses).toEqual([200, 200, 429]);
  });

  it('can be disabled', async () => {
    crm.settings.rateLimit = null;
    const token = crm.pit('LocA');
    const answers = await Promise.all(Array.from({ length: 120 }, () => request(crm, SEARCH, { token })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(answers[0]?.headers.has('x-ratelimit-max')).toBe(false);
  });
});

it('an unknown path gets 404', async () => {
  expect((await request(crm, 'GET /oauth/location-token')).status).toBe(404);
});
