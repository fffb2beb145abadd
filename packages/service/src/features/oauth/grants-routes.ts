import {
  listGrants,
  removeGrant,
  removePrivateToken,
  setPrivateToken,
} from '@footbridge/protocol/operator/crm';
import type { FastifyInstance, FastifyRequest } from 'fastify';

import type { Audit } from '../../platform/operator/audit-sql.ts';
import type { Changes } from '../../platform/changes/changes.ts';
import { UNREADABLE_TOKENS } from '../../relay/crm/tokens.ts';
import type { GrantKind, Grants, GrantView } from './grants-sql.ts';
import { isoTime, operatorError } from '../../platform/operator/operator-request.ts';
import { namedPlace, readNamedPlace, readPage } from '../../platform/operator/pages.ts';
import type { NamedPlace } from '../../platform/operator/pages.ts';
import { serveCall } from '../../platform/operator/serve-call.ts';

export interface GrantsRoutesDeps {
  /** Undefined without an encryption key, because tokens are only stored encrypted. */
  readonly grants: Grants | undefined;
  readonly changes: Pick<Changes, 'announce'>;
  readonly audit: Pick<Audit, 'record'>;
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
    serveCall(app, listGrants, async ({ query: { limit, after } }) => {
      const from = readNamedPlace(after, ['company', 'location', 'private']);
      const { entries, next } = await readPage(
        limit,
        (count) => (grants === undefined ? Promise.resolve([]) : tokensAfter(grants, from, count)),
        (last) =>
          'ownerId' in last
            ? namedPlace({ list: last.kind, id: last.ownerId })
            : namedPlace({ list: 'private', id: last.locationId }),
      );
      return {
        grants: entries.flatMap((entry) => ('ownerId' in entry ? [view(entry)] : [])),
        privateTokens: entries.flatMap((entry) => ('ownerId' in entry ? [] : [privateView(entry)])),
        ...next,
      };
    });

    serveCall(app, removeGrant, async ({ params: { locationId }, request }) => {
      if (!(await store().remove('location', locationId)))
        throw operatorError('NOT_FOUND', 'This location has no grant.');
      await tell(request, 'grant.removed', locationId, 'grant_removed');
    });

    serveCall(app, setPrivateToken, async ({ params: { locationId }, body: { token }, request }) => {
      await store().setPrivateToken(locationId, token);
      await tell(request, 'private_token.set', locationId);
    });

    serveCall(app, removePrivateToken, async ({ params: { locationId }, request }) => {
      if (!(await store().removePrivateToken(locationId)))
        throw operatorError('NOT_FOUND', 'No private integration token is set for this location.');
      await tell(request, 'private_token.removed', locationId, 'grant_removed');
    });
  };
}

const problemOf = (kind: keyof typeof UNREADABLE_TOKENS.actions) => ({
  sentence: UNREADABLE_TOKENS.sentence,
  action: UNREADABLE_TOKENS.actions[kind],
});

type PrivateToken = Awaited<ReturnType<Grants['privateTokens']>>[number];

/** Resolves with the grants after a place, then with the private tokens. */
async function tokensAfter(
  grants: Grants,
  place: NamedPlace<GrantKind | 'private'> | undefined,
  limit: number,
): Promise<(GrantView | PrivateToken)[]> {
  if (place?.list === 'private') return await grants.privateTokens({ limit, after: place.id });
  const after = place === undefined ? undefined : { kind: place.list, ownerId: place.id };
  const page = await grants.list({ limit, after });
  const rest = limit - page.length;
  return rest === 0 ? page : [...page, ...(await grants.privateTokens({ limit: rest, after: '' }))];
}

const privateView = ({ locationId, updatedAt, isReadable }: PrivateToken) => ({
  locationId,
  state: isReadable ? ('active' as const) : ('unreadable' as const),
  updatedAt: isoTime(updatedAt),
  problem: isReadable ? null : problemOf('private'),
});

const view = (grant: GrantView) => ({
  kind: grant.kind,
  ownerId: grant.ownerId,
  companyId: grant.companyId,
  state: grant.state,
  expiresAt: grant.expiresAt === 0 ? null : isoTime(grant.expiresAt),
  refreshedAt: isoTime(grant.refreshedAt),
  lastError: grant.lastError,
  problem: grant.state === 'unreadable' ? problemOf('grant') : null,
});
