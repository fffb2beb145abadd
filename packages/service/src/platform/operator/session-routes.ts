import * as sessions from '@footbridge/protocol/operator/session';
import type { FastifyInstance } from 'fastify';

import type { OperatorAuth, SignedIn } from './authenticate-operator.ts';
import type { Audit } from './audit-sql.ts';
import type { Limits } from '../limits/limits.ts';
import { rejection } from './operator-auth.ts';
import { isoTime } from './operator-request.ts';
import { readAs, serveCall } from './serve-call.ts';
import { sessionCookie } from './session-cookie.ts';

export interface SignInDeps {
  readonly auth: Pick<OperatorAuth, 'signIn' | 'signInWithCode'>;
  readonly limits: Limits;
  readonly audit: Pick<Audit, 'record'>;
}

/** `POST /operator/session`: exchanges an operator token, or a code that works once, for the cookie of a browser session. Needs no earlier sign-in. */
export function signInRoute({ auth, limits, audit }: SignInDeps) {
  return (app: FastifyInstance): void => {
    app.post('/operator/session', { bodyLimit: sessions.signIn.bodyLimit }, async (request, reply) => {
      const given = readAs(sessions.signIn.body, request.body);
      const signedIn =
        'token' in given ? await auth.signIn(given.token) : await auth.signInWithCode(given.code);
      if (signedIn === undefined) throw await rejection(request, limits, true);
      const { label, tokenId } = signedIn.operator;
      await audit.record({
        actor: 'operator',
        name: label,
        action: 'session.started',
        target: tokenId ?? 'operator',
      });
      return reply
        .header('Cache-Control', 'no-store')
        .header('Set-Cookie', sessionCookie(request, signedIn.session))
        .send(view(signedIn));
    });
  };
}

/** `GET /operator/session`: who is signed in. `DELETE`: signs out. `POST /operator/session/codes`: a code for another browser. */
export function sessionRoutes({
  auth,
}: {
  readonly auth: Pick<OperatorAuth, 'signOut' | 'createSignInCode'>;
}) {
  return (app: FastifyInstance): void => {
    serveCall(app, sessions.showSession, async ({ request: { operator, signedIn } }) =>
      view(signedIn ?? { operator, csrf: '' }),
    );

    serveCall(app, sessions.createSignInCode, async ({ request }) => {
      const { code, expiresAt } = await auth.createSignInCode(request.operator);
      return { code, expiresAt: isoTime(expiresAt) };
    });

    app.delete('/operator/session', { config: { locations: 'filtered' } }, async (request, reply) => {
      if (request.signedIn !== undefined) await auth.signOut(request.signedIn.session);
      return reply.code(204).header('Set-Cookie', sessionCookie(request)).send();
    });
  };
}

const view = ({ operator, csrf }: Omit<SignedIn, 'session'>) => ({
  label: operator.label,
  readOnly: operator.readOnly,
  locations: operator.locations === null ? null : [...operator.locations],
  csrf,
});
