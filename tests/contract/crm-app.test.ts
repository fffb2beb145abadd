import { readFileSync } from 'node:fs';

import { CRM_SCOPES } from '@footbridge/protocol/crm-scopes';
import { describe, expect, it } from 'vitest';

import { bridges } from './test-bridge.ts';

const start = bridges();

describe('connecting the CRM', () => {
  it('O1 gives the operator the URLs, the scopes and the install link of the app, and no secret', async () => {
    const bridge = await start();
    const { body } = await bridge.operator('GET', '/operator/crm-app');
    expect(body).toMatchObject({
      deliveryUrl: `${bridge.url}/crm/webhook`,
      redirectUrl: `${bridge.url}/oauth/callback/crm`,
      eventsUrl: `${bridge.url}/crm/events`,
      scopes: CRM_SCOPES,
      oauth: 'ready',
      missing: [],
    });
    const link = new URL(String(body['installUrl']));
    expect(Object.fromEntries(link.searchParams)).toEqual({
      response_type: 'code',
      redirect_uri: body['redirectUrl'],
      client_id: bridge.crm.settings.clientId,
      scope: CRM_SCOPES.map(({ scope }) => scope).join(' '),
    });
    expect(link.href).not.toContain('+');
    expect(JSON.stringify(body)).not.toContain(bridge.crm.settings.clientSecret);
  });

  it('O3 says which settings are missing instead of an install link', async () => {
    const bridge = await start({ oauth: 'unauthorised', env: { CRM_OAUTH_CLIENT_ID: '' } });
    expect((await bridge.operator('GET', '/operator/crm-app')).body).toMatchObject({
      oauth: 'incomplete',
      missing: ['CRM_OAUTH_CLIENT_ID'],
      installUrl: null,
    });
  });

  it.each(CRM_SCOPES)('documents the scope $scope', ({ scope, purpose }) => {
    const row = readFileSync('docs/crm.md', 'utf8')
      .split('\n')
      .find((line) => line.startsWith('|') && line.includes(`\`${scope}\``));
    expect(row).toContain(purpose);
  });
});
