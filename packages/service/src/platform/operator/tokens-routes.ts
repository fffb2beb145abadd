import { createToken, listTokens, removeToken } from '@footbridge/protocol/operator/access';
import type { FastifyInstance } from 'fastify';

import type { OperatorAuth } from './authenticate-operator.ts';
import type { Audit } from './audit-sql.ts';
import type { Operators, OperatorToken } from './operators-sql.ts';
import { isoTime, isRowId, operatorError } from './operator-request.ts';
import { readPage, readTimedPlace, timedPlace } from './pages.ts';
import { serveCall } from './serve-call.ts';

export interface TokensRoutesDeps {
  readonly auth: Pick<OperatorAuth, 'createToken'>;
  readonly operators: Pick<Operators, 'listTokens' | 'removeToken'>;
  readonly audit: Pick<Audit, 'record'>;
}

/** `GET`, `POST /operator/tokens`, `DELETE /operator/tokens/:id`: tokens for others, read-only or for some locations. */
export function tokensRoutes({ auth, operators, audit }: TokensRoutesDeps) {
  return (app: FastifyInstance): void => {
    serveCall(app, listTokens, async ({ query: { limit, after } }) => {
      const from = readTimedPlace(after);
      const { entries, next } = await readPage(
        limit,
        (count) => operators.listTokens({ limit: count, after: from }),
        ({ createdAt: at, id }) => timedPlace({ at, id }),
      );
      return { tokens: entries.map(view), ...next };
    });

    serveCall(app, createToken, async ({ body, request }) => {
      const { token, secret } = await auth.createToken({
        label: body.label.trim(),
        readOnly: body.readOnly ?? false,
        locations: body.locations ?? null,
      });
      const { id, label, readOnly, locations } = token;
      await audit.record({
        actor: 'operator',
        name: request.operator.label,
        action: 'token.created',
        target: id,
        detail: { label, readOnly, locations: locations?.length ?? null },
      });
      return { ...view(token), token: secret };
    });

    serveCall(app, removeToken, async ({ params: { id }, request }) => {
      if (!isRowId(id) || !(await operators.removeToken(id)))
        throw operatorError('NOT_FOUND', 'There is no such token. List them with `footbridge token list`.');
      await audit.record({
        actor: 'operator',
        name: request.operator.label,
        action: 'token.removed',
        target: id,
      });
    });
  };
}

const view = ({ createdAt, ...token }: OperatorToken) => ({ ...token, createdAt: isoTime(createdAt) });
