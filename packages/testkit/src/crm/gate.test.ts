import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startCrm } from '../crm.ts';
import type { Crm } from '../crm.ts';
import { answerProblems } from '../openapi.ts';
import { undoList } from '../undo.ts';
import { ask } from './test-client.ts';

const undo = undoList();
let crm: Crm;
let clock = 0;

beforeEach(async () => {
  clock = Date.now();
  crm = await startCrm({ now: () => clock });
  undo.add(() => crm.stop());
});
afterEach(() => undo.run());

const SEARCH = 'GET /contacts/search/duplicate?locationId=LocA&number=%2B15550001111';

describe('the version header', () => {
  it.each([
    { version: null, status: 401, message: 'version header was not found.' },
    { version: 'x', status: 400, message: "Invalid API version segment 'x' at position 0" },
  ])('$version gets $status', async ({ version, status, message }) => {
    const answer = await ask(crm, SEARCH, { token: crm.token('LocA').access_token, version });
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject({ message });
    expect(answerProblems('duplicate', status, answer.body)).toEqual([]);
  });

  it.each(['2021-04-15', '2021-07-28', '2023-02-21', 'v3'])('%s is known', async (version) => {
    expect((await ask(crm, SEARCH, { token: crm.token('LocA').access_token, version })).status).toBe(200);
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
      why: 'of another location, private',
      token: () => crm.pit('LocB'),
      status: 403,
      message: 'The token does not have access to this location.',
    },
  ])('$why gets $status', async ({ token, status, message }) => {
    const given = token();
    const answer = await ask(crm, SEARCH, given === undefined ? {} : { token: given });
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject({ message });
  });

  it('opens only its scopes', async () => {
    const code = crm.install({ locationId: 'LocA', scopes: ['contacts.readonly'] });
    const form = {
      client_id: crm.settings.clientId,
      client_secret: crm.settings.clientSecret,
      grant_type: 'authorization_code',
      code,
    };
    const token = String((await ask(crm, 'POST /oauth/token', { form })).body['access_token']);
    expect((await ask(crm, SEARCH, { token })).status).toBe(200);
    const refused = await ask(crm, 'POST /contacts/', { token, body: { locationId: 'LocA' } });
    expect(refused.status).toBe(401);
    expect(refused.body).toMatchObject({ message: 'The token is not authorized for this scope.' });
  });

  it('private integrations work without OAuth', async () => {
    expect((await ask(crm, SEARCH, { token: crm.pit('LocA') })).status).toBe(200);
  });
});

describe('rate limits', () => {
  it('let 100 through in 10 s, per location, and say so on every answer', async () => {
    const a = crm.token('LocA').access_token;
    const first = await ask(crm, SEARCH, { token: a });
    expect(Object.fromEntries(first.headers)).toMatchObject({
      'x-ratelimit-max': '100',
      'x-ratelimit-remaining': '99',
      'x-ratelimit-interval-milliseconds': '10000',
      'x-ratelimit-limit-daily': '200000',
      'x-ratelimit-daily-remaining': '199999',
    });
    const rest = await Promise.all(Array.from({ length: 109 }, () => ask(crm, SEARCH, { token: a })));
    expect(rest.filter(({ status }) => status === 200)).toHaveLength(99);
    const refused = rest.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(10);
    expect(refused[0]?.headers.get('x-ratelimit-remaining')).toBe('0');
    const other = 'GET /contacts/search/duplicate?locationId=LocB&number=1';
    expect((await ask(crm, other, { token: crm.pit('LocB') })).status).toBe(200);
    clock += 10_000;
    expect((await ask(crm, SEARCH, { token: a })).status).toBe(200);
  });

  it('have a daily part', async () => {
    crm.settings.rateLimit = { max: 100, intervalMs: 10, daily: 2 };
    const token = crm.pit('LocA');
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++) {
      statuses.push((await ask(crm, SEARCH, { token })).status);
      clock += 10;
    }
    expect(statuses).toEqual([200, 200, 429]);
  });

  it('can be switched off', async () => {
    crm.settings.rateLimit = null;
    const token = crm.pit('LocA');
    const answers = await Promise.all(Array.from({ length: 120 }, () => ask(crm, SEARCH, { token })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(answers[0]?.headers.has('x-ratelimit-max')).toBe(false);
  });
});

it('an unknown path is not found', async () => {
  expect((await ask(crm, 'GET /oauth/location-token')).status).toBe(404);
});
