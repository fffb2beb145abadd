import { timingSafeEqual } from 'node:crypto';

import type { FastifyInstance, FastifyRequest } from 'fastify';

import { RequestError } from '../errors.ts';
import type { Operator, OperatorAuth, SignedIn } from './authenticate-operator.ts';
import type { Limit, Limits } from '../limits/limits.ts';
import { operatorError } from './operator-request.ts';
import { sessionIn } from './session-cookie.ts';

declare module 'fastify' {
  interface FastifyRequest {
    operator: Operator;
    /** Undefined when the request carries a token instead. */
    signedIn: SignedIn | undefined;
  }
  interface FastifyContextConfig {
    /**
     * Whether a token for some locations may call the route. `named`: the path names the location. `filtered`: the route shows and
     * changes only what `mayAccess` allows. Without it, the route is for tokens of all locations.
     */
    locations?: 'named' | 'filtered';
  }
}

export interface OperatorAuthRouteDeps {
  readonly auth: Pick<OperatorAuth, 'byToken' | 'bySession'>;
  readonly limits: Limits;
}

const FAILURES: Limit = { name: 'operator-login', max: 10, windowSec: 60 };
const READING = new Set(['GET', 'HEAD']);
/** A read-only token may sign a browser in and out. */
const OWN_SESSION = new Set(['/operator/session', '/operator/session/codes']);

/**
 * Requires an operator token or the session of a browser. A session needs its CSRF token to change something. Ten wrong tokens in a
 * minute lock an address out; a valid one is accepted all the same.
 */
export function requireOperator({ auth, limits }: OperatorAuthRouteDeps) {
  return (app: FastifyInstance): void => {
    app.decorateRequest('operator');
    app.decorateRequest('signedIn');
    app.addHook('onRequest', async (request) => {
      const { authorization } = request.headers;
      const signedIn = authorization === undefined ? await sessionOf(request, auth) : undefined;
      const operator = signedIn?.operator ?? (await byHeader(authorization, auth));
      if (operator === undefined) throw await rejection(request, limits, authorization !== undefined);
      if (signedIn !== undefined) checkCsrf(request, signedIn);
      checkAccess(request, operator);
      request.operator = operator;
      request.signedIn = signedIn;
    });
  };
}

/** Whether the operator of a request may see and change this location. */
export const mayAccess = ({ operator }: FastifyRequest, locationId: string): boolean =>
  operator.locations === null || operator.locations.has(locationId);

/** Returns the locations to list: the requested one, else those of the token. Undefined: all. */
export function visibleLocations(
  request: FastifyRequest,
  wanted: string | undefined,
): readonly string[] | undefined {
  const { locations } = request.operator;
  if (wanted === undefined) return locations === null ? undefined : [...locations];
  return mayAccess(request, wanted) ? [wanted] : [];
}

/** Returns the location of a change, which a token for some locations has to name. Undefined: all. */
export function changedLocations(
  request: FastifyRequest,
  wanted: string | undefined,
): readonly string[] | undefined {
  if (wanted !== undefined && mayAccess(request, wanted)) return [wanted];
  if (wanted === undefined && request.operator.locations === null) return undefined;
  throw operatorError(
    'FORBIDDEN',
    wanted === undefined
      ? 'This token covers some locations only. Name one of them in locationId.'
      : 'This token does not cover this location.',
  );
}

async function sessionOf(request: FastifyRequest, auth: OperatorAuthRouteDeps['auth']) {
  const session = sessionIn(request);
  return session === undefined ? undefined : await auth.bySession(session);
}

async function byHeader(authorization: string | undefined, auth: OperatorAuthRouteDeps['auth']) {
  // Not `parseBearerToken`: OPERATOR_TOKEN is the operator's own choice, with characters that RFC 6750 does not allow.
  const [, given = ''] = /^Bearer (\S+)$/.exec(authorization ?? '') ?? [];
  return await auth.byToken(given);
}

/** Counts only what may be a guess: a request without a token guesses nothing. */
export async function rejection(
  request: FastifyRequest,
  limits: Limits,
  isGuess: boolean,
): Promise<RequestError> {
  const failures = isGuess ? await limits.take(FAILURES, request.ip) : undefined;
  if (failures?.allowed === false)
    return new RequestError(
      'TOO_MANY_REQUESTS',
      { message: 'Too many wrong operator tokens from this address. Wait a minute.' },
      { retryAfterSec: failures.resetSec },
    );
  return new RequestError(
    'UNAUTHORIZED',
    {
      message:
        'Send the operator token as "Authorization: Bearer …". It is in OPERATOR_TOKEN or in DATA_DIR/operator-token.',
    },
    { headers: { 'WWW-Authenticate': 'Bearer' } },
  );
}

function checkCsrf(request: FastifyRequest, { csrf }: SignedIn): void {
  if (READING.has(request.method)) return;
  const given = Buffer.from(String(request.headers['x-csrf-token'] ?? ''));
  const expected = Buffer.from(csrf);
  if (given.length === expected.length && timingSafeEqual(given, expected)) return;
  throw operatorError('FORBIDDEN', 'The request does not come from the console. Reload the page.');
}

function checkAccess(request: FastifyRequest, operator: Operator): void {
  if (operator.readOnly && !READING.has(request.method) && !OWN_SESSION.has(request.routeOptions.url ?? ''))
    throw operatorError('FORBIDDEN', 'This token is read-only.');
  if (operator.locations === null) return;
  const { locations } = request.routeOptions.config;
  if (locations === undefined)
    throw operatorError('FORBIDDEN', 'This token covers some locations only, and this is about all of them.');
  const { locationId } = request.params as { readonly locationId?: string };
  if (locations === 'named' && !operator.locations.has(locationId ?? ''))
    throw operatorError('FORBIDDEN', 'This token does not cover this location.');
}
