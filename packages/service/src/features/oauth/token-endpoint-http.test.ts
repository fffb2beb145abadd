import { describe, expect, it } from 'vitest';

import { createTokenEndpoint } from './token-endpoint-http.ts';

const GRANT = { access_token: 'access', refresh_token: 'refresh', expires_in: 100, locationId: 'loc' };

/** The endpoint of a CRM that always responds with `body`. */
const endpointWith = (body: object, status = 200) =>
  createTokenEndpoint({
    apiVersion: '2021-07-28',
    transport: {
      send: async () => ({ status, headers: new Map(), text: JSON.stringify(body) }),
      close: async () => {},
    },
    tokenUrl: 'https://crm.example/oauth/token',
    crmHost: 'https://crm.example',
    clientId: 'app-1',
    clientSecret: 'secret',
  });

describe('a response of the token endpoint', () => {
  it('O1 has tokens and their owner', async () => {
    expect(await endpointWith(GRANT).exchange('code')).toMatchObject({
      ok: true,
      value: { accessToken: 'access', refreshToken: 'refresh', expiresInSec: 100, locationId: 'loc' },
    });
  });

  it.each(['', 5, null, 'two words', 'line\r\nX-Evil: 1', 'tok\u0000en', 'tokén', 'x'.repeat(20_000)])(
    'O5 has no tokens when the token %j is not a valid header value',
    async (token) => {
      expect(await endpointWith({ ...GRANT, access_token: token }).exchange('code')).toMatchObject({
        kind: 'unavailable',
        retryable: true,
      });
    },
  );

  it.each([
    [undefined, 86_400],
    ['3600', 3600],
    [1e300, 315_360_000],
  ])('O7 with the lifetime %j is valid for %i seconds', async (life, seconds) => {
    expect(await endpointWith({ ...GRANT, expires_in: life }).exchange('code')).toMatchObject({
      value: { expiresInSec: seconds },
    });
  });

  it.each([0, -5, 'soon', {}])('O5 has no tokens when the lifetime is %j', async (life) => {
    expect(await endpointWith({ ...GRANT, expires_in: life }).exchange('code')).toMatchObject({
      kind: 'unavailable',
    });
  });

  it.each([5, '', ' ', 'loc\u0000', 'loc\n', '\ud800'])(
    'O5 has no owner when the locationId is %j',
    async (locationId) => {
      expect(await endpointWith({ ...GRANT, locationId }).exchange('code')).toMatchObject({
        value: { locationId: null },
      });
    },
  );

  it('O9 is rejected when it is for another location', async () => {
    expect(await endpointWith(GRANT).mint('company-token', 'comp', 'loc')).toMatchObject({ ok: true });
    expect(await endpointWith(GRANT).mint('company-token', 'comp', 'another')).toMatchObject({
      kind: 'refused',
    });
  });

  it.each([
    [400, { error: 'invalid_grant' }, 'invalid', false],
    [401, { error: 'UnAuthorized!', error_description: 'refresh token is invalid' }, 'invalid', false],
    [400, { message: 'Location is not active' }, 'inactive', false],
    [401, { error: 'invalid_client' }, 'refused', false],
    [429, {}, 'unavailable', true],
    [503, {}, 'unavailable', true],
    [302, {}, 'unavailable', true],
  ])('O8 %i %j is %s to a refresh', async (status, body, kind, retryable) => {
    expect(await endpointWith(body, status).refresh('refresh', 'Location')).toMatchObject({
      kind,
      retryable,
      status,
    });
  });

  it('O5 rejects a code permanently with any other 4xx', async () => {
    for (const body of [{ message: 'Location is not active' }, { error: 'UnAuthorized!' }])
      expect(await endpointWith(body, 401).exchange('code')).toMatchObject({ kind: 'invalid' });
  });

  it('O9 lists installed locations page by page', async () => {
    const locations = Array.from({ length: 100 }, (_one, index) => ({ _id: `loc${index}` }));
    const full = await endpointWith({ locations }).installedLocations('token', 'comp', 100);
    expect(full).toMatchObject({ ok: true, value: { nextSkip: 200 } });
    const last = endpointWith({
      locations: [{ _id: 'a' }, { _id: 'b', isInstalled: false }, { id: 'c' }, 5],
    });
    expect(await last.installedLocations('token', 'comp', 0)).toEqual({
      ok: true,
      value: { locations: ['a', 'c'], nextSkip: undefined },
    });
    for (const [body, status] of [
      [{}, 200],
      [{ locations: [] }, 500],
    ] as const)
      expect(await endpointWith(body, status).installedLocations('token', 'comp', 0)).toMatchObject({
        kind: 'unavailable',
        retryable: true,
      });
  });
});
