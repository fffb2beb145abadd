import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';

import type { Audit } from '../../ports/audit/audit.ts';
import type { Changes } from '../../ports/changes/changes.ts';
import type { Grants, GrantView } from '../../ports/grants/grants.ts';
import { asLocation, isoTime, readBody, operatorError } from './operator-request.ts';

export interface GrantsRoutesDeps {
  /** Undefined without an encryption key, because tokens are only stored encrypted. */
  readonly grants: Grants | undefined;
  readonly changes: Pick<Changes, 'announce'>;
  readonly audit: Pick<Audit, 'record'>;
}

const PRIVATE_TOKEN = z.strictObject({
  token: z.string().regex(/^[\x21-\x7e]{8,4096}$/, 'must be the token alone, without spaces or "Bearer"'),
});

interface OfLocation {
  Params: { locationId: string };
}

/** `GET /operator/grants`, `DELETE /operator/grants/:locationId`, `PUT`, `DELETE /operator/locations/:locationId/private-token`. No response contains a token (O8, O10). */
export function grantsRoutes({ grants, changes, audit }: GrantsRoutesDeps) {
  function store(): Grants {
    if (grants !== undefined) return grants;
    throw operatorError(
      'CONFLICT',
      'Tokens are stored encrypted, and no encryption key is set. Set CRM_OAUTH_ENCRYPTION_KEY (32 bytes) and restart, or use CRM_PIT_TOKENS.',
    );
  }

  async function tell(
    { operator }: FastifyRequest,
    action: string,
    locationId: string,
    topic: 'grant' | 'grant_removed' = 'grant',
  ): Promise<void> {
    await changes.announce(topic, locationId);
    await audit.record({ actor: 'operator', name: operator.label, action, target: locationId });
  }

  return (app: FastifyInstance): void => {
    app.get('/operator/grants', async () => ({
      grants: ((await grants?.list()) ?? []).map(view),
      privateTokens: ((await grants?.privateTokens()) ?? []).map(({ locationId, updatedAt, isReadable }) => ({
        locationId,
        state: isReadable ? 'active' : 'unreadable',
        updatedAt: isoTime(updatedAt),
      })),
    }));

    app.delete<OfLocation>('/operator/grants/:locationId', async (request, reply) => {
      const locationId = asLocation(request.params.locationId);
      if (!(await store().remove('location', locationId)))
        throw operatorError('NOT_FOUND', 'This location has no grant.');
      await tell(request, 'grant.removed', locationId, 'grant_removed');
      return reply.code(204).send();
    });

    app.put<OfLocation>('/operator/locations/:locationId/private-token', async (request, reply) => {
      const locationId = asLocation(request.params.locationId);
      const { token } = readBody(PRIVATE_TOKEN, request.body);
      await store().setPrivateToken(locationId, token);
      await tell(request, 'private_token.set', locationId);
      return reply.code(204).send();
    });

    app.delete<OfLocation>('/operator/locations/:locationId/private-token', async (request, reply) => {
      const locationId = asLocation(request.params.locationId);
      if (!(await store().removePrivateToken(locationId)))
        throw operatorError('NOT_FOUND', 'No private integration token is set for this location.');
      await tell(request, 'private_token.removed', locationId, 'grant_removed');
      return reply.code(204).send();
    });
  };
}

const view = (grant: GrantView) => ({
  kind: grant.kind,
  ownerId: grant.ownerId,
  companyId: grant.companyId,
  state: grant.state,
  expiresAt: grant.expiresAt === 0 ? null : isoTime(grant.expiresAt),
  refreshedAt: isoTime(grant.refreshedAt),
  lastError: grant.lastError,
});
