import { randomBytes } from 'node:crypto';

import { silentLog } from '@footbridge/testkit/silent-log';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import fastify from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';

import { createGrants } from './grants-sql.ts';
import { createVault } from './vault.ts';
import { openDatabase } from '../../platform/sql/open-database.ts';
import { renderError } from '../../platform/http/render-error.ts';
import { grantsRoutes } from './grants-routes.ts';
import { asOperator } from '../../platform/operator/testing/as-operator.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function start(keys: Buffer[] = [randomBytes(32)]) {
  const database = await openDatabase({ engine: 'sqlite', file: ':memory:' }, () => {});
  cleanup.add(() => database.close());
  const clock = new FakeClock();
  const grants = keys.length === 0 ? undefined : createGrants({ database, clock, vault: createVault(keys) });
  const announced: string[] = [];
  const audited: string[] = [];
  const app = fastify({ routerOptions: { maxParamLength: 1024 } });
  cleanup.add(() => app.close());
  app.setErrorHandler(renderError(silentLog));
  asOperator(app);
  grantsRoutes({
    grants,
    changes: { announce: async (_topic, subject) => void announced.push(subject) },
    audit: { record: async ({ action, target }) => void audited.push(`${action} ${target}`) },
  })(app);
  const call = async (method: 'GET' | 'PUT' | 'DELETE', url: string, body?: object) => {
    const answer = await app.inject({ method, url, ...(body && { body }) });
    return { status: answer.statusCode, text: answer.body };
  };
  return { grants, announced, audited, call };
}

describe('the grants of locations', () => {
  it('O8 show state, expiry and last error, never a token', async () => {
    const { grants, call } = await start();
    const grant = await grants?.store({
      kind: 'location',
      ownerId: 'loc1',
      companyId: null,
      accessToken: 'secret-access',
      refreshToken: 'secret-refresh',
      expiresAt: Date.UTC(2026, 1, 1),
    });
    if (grant)
      await grants?.recordFailure(grant, { state: 'reauth_required', lastError: '400 Invalid grant' });
    const { status, text } = await call('GET', '/operator/grants');
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual({
      grants: [
        {
          kind: 'location',
          ownerId: 'loc1',
          companyId: null,
          state: 'reauth_required',
          expiresAt: '2026-02-01T00:00:00.000Z',
          refreshedAt: '2026-01-01T00:00:00.000Z',
          lastError: '400 Invalid grant',
          problem: null,
        },
      ],
      privateTokens: [],
    });
  });

  it('can be deleted, which is announced to all nodes and recorded in the audit log', async () => {
    const { grants, call, announced, audited } = await start();
    const tokens = { accessToken: 'a', refreshToken: 'r', expiresAt: 1 };
    await grants?.store({ kind: 'location', ownerId: 'loc1', companyId: null, ...tokens });
    expect((await call('DELETE', '/operator/grants/loc1')).status).toBe(204);
    expect((await call('DELETE', '/operator/grants/loc1')).status).toBe(404);
    expect([announced, audited]).toEqual([['loc1'], ['grant.removed loc1']]);
  });
});

describe('a private integration token', () => {
  const path = '/operator/locations/loc1/private-token';

  it('O10 is set and removed, announced to all nodes, recorded in the audit log, and never shown', async () => {
    const { grants, call, announced, audited } = await start();
    expect((await call('PUT', path, { token: 'pit-12345678' })).status).toBe(204);
    expect(await grants?.privateToken('loc1')).toBe('pit-12345678');
    expect((await call('GET', '/operator/grants')).text).not.toContain('pit-');
    expect((await call('DELETE', path)).status).toBe(204);
    expect((await call('DELETE', path)).status).toBe(404);
    expect(announced).toEqual(['loc1', 'loc1']);
    expect(audited).toEqual(['private_token.set loc1', 'private_token.removed loc1']);
  });

  it.each([{}, { token: '' }, { token: 'Bearer pit-1' }, { token: 7 }, { token: 'pit-12345678', more: 1 }])(
    'O10 %j is rejected, and the response does not repeat it',
    async (body) => {
      const { call, announced } = await start();
      const { status, text } = await call('PUT', path, body);
      expect(status).toBe(400);
      expect(text).toContain('INVALID_REQUEST');
      expect(text).not.toContain('pit-1');
      expect(announced).toEqual([]);
    },
  );

  it.each(['%20', '%00', 'a%0Ab', 'x'.repeat(300)])('is rejected for the location %s', async (locationId) => {
    const { call } = await start();
    const answer = await call('PUT', `/operator/locations/${locationId}/private-token`, {
      token: 'pit-12345678',
    });
    expect(answer.status).toBe(400);
  });

  it('O6 cannot be stored without an encryption key, and the response says what to do', async () => {
    const { call } = await start([]);
    const { status, text } = await call('PUT', path, { token: 'pit-12345678' });
    expect(status).toBe(409);
    expect(text).toContain('CRM_OAUTH_ENCRYPTION_KEY');
    expect(JSON.parse((await call('GET', '/operator/grants')).text)).toEqual({
      grants: [],
      privateTokens: [],
    });
  });
});
