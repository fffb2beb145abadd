import { describe, expect, it } from 'vitest';

import { createTokenEndpoint } from './token-endpoint.ts';

const GRANT = { access_token: 'access', refresh_token: 'refresh', expires_in: 100, locationId: 'loc' };

/** The endpoint of a CRM that answers everything with this. */
const answering = (body: object) =>
  createTokenEndpoint({
    transport: {
      send: async () => ({ status: 200, headers: new Map(), text: JSON.stringify(body) }),
      close: async () => {},
    },
    tokenUrl: 'https://crm.example/oauth/token',
    crmHost: 'https://crm.example',
    clientId: 'app-1',
    clientSecret: 'secret',
  });

describe('an answer of the token endpoint', () => {
  it('O1 brings tokens, and whose they are', async () => {
    expect(await answering(GRANT).exchange('code')).toMatchObject({
      kind: 'issued',
      tokens: { accessToken: 'access', refreshToken: 'refresh', expiresInSec: 100, locationId: 'loc' },
    });
  });

  it.each(['', 5, null, 'two words', 'line\r\nX-Evil: 1', 'tok\u0000en', 'tokén', 'x'.repeat(20_000)])(
    'O5 a token like %j cannot stand in a header: no tokens came',
    async (token) => {
      expect(await answering({ ...GRANT, access_token: token }).exchange('code')).toMatchObject({
        kind: 'away',
      });
    },
  );

  it.each([
    [undefined, 86_400],
    ['3600', 3600],
    [1e300, 315_360_000],
  ])('O7 a life of %j is %i seconds', async (life, seconds) => {
    expect(await answering({ ...GRANT, expires_in: life }).exchange('code')).toMatchObject({
      tokens: { expiresInSec: seconds },
    });
  });

  it.each([0, -5, 'soon', {}])('O5 a life of %j is none', async (life) => {
    expect(await answering({ ...GRANT, expires_in: life }).exchange('code')).toMatchObject({ kind: 'away' });
  });

  it.each([5, '', ' ', 'loc\u0000', 'loc\n', '\ud800'])('O5 %j is nobody', async (locationId) => {
    expect(await answering({ ...GRANT, locationId }).exchange('code')).toMatchObject({
      tokens: { locationId: null },
    });
  });

  it('O9 for one location does not do for another', async () => {
    expect(await answering(GRANT).mint('company-token', 'comp', 'loc')).toMatchObject({ kind: 'issued' });
    expect(await answering(GRANT).mint('company-token', 'comp', 'another')).toMatchObject({
      kind: 'refused',
    });
  });
});
