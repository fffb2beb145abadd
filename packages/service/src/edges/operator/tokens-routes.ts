import { asLocationId } from '@footbridge/protocol/ids';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';

import type { OperatorAuth } from '../../flows/operators/authenticate-operator.ts';
import type { Audit } from '../../ports/audit/audit.ts';
import type { Operators, OperatorToken } from '../../ports/operators/operators.ts';
import { isoTime, isRowId, operatorError, readBody } from './operator-request.ts';

export interface TokensRoutesDeps {
  readonly auth: Pick<OperatorAuth, 'createToken'>;
  readonly operators: Pick<Operators, 'listTokens' | 'removeToken'>;
  readonly audit: Pick<Audit, 'record'>;
}

const LOCATION = z
  .string()
  .max(256)
  .refine((text) => asLocationId(text) !== undefined, 'is not a location id');
const CREATE = z.strictObject({
  label: z.string().trim().min(1).max(100),
  readOnly: z.boolean().default(false),
  locations: z.array(LOCATION).min(1).max(1000).nullable().default(null),
});

/** `GET`, `POST /operator/tokens`, `DELETE /operator/tokens/:id`: tokens for others, read-only or for some locations. */
export function tokensRoutes({ auth, operators, audit }: TokensRoutesDeps) {
  return (app: FastifyInstance): void => {
    app.get('/operator/tokens', async () => ({ tokens: (await operators.listTokens()).map(view) }));

    app.post('/operator/tokens', async (request, reply) => {
      const { token, secret } = await auth.createToken(readBody(CREATE, request.body));
      const { id, label, readOnly, locations } = token;
      await audit.record({
        actor: 'operator',
        name: request.operator.label,
        action: 'token.created',
        target: id,
        detail: { label, readOnly, locations: locations?.length ?? null },
      });
      return reply
        .code(201)
        .header('Cache-Control', 'no-store')
        .send({ ...view(token), token: secret });
    });

    app.delete<{ Params: { id: string } }>('/operator/tokens/:id', async (request, reply) => {
      const { id } = request.params;
      if (!isRowId(id) || !(await operators.removeToken(id)))
        throw operatorError('NOT_FOUND', 'There is no such token. List them with `footbridge token list`.');
      await audit.record({
        actor: 'operator',
        name: request.operator.label,
        action: 'token.removed',
        target: id,
      });
      return reply.code(204).send();
    });
  };
}

const view = ({ createdAt, ...token }: OperatorToken) => ({ ...token, createdAt: isoTime(createdAt) });
