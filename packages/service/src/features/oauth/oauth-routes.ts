import type { Log } from '@footbridge/runtime/log';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { RequestError } from '../../platform/errors.ts';
import type { InstallOutcome } from './install-app.ts';
import type { OAuthApp } from './settings.ts';
import type { Limit, Limits } from '../../platform/limits/limits.ts';
import { rateLimitHeaders } from '../../platform/http/error-response.ts';
import { addressKey } from '../../platform/http/client-address.ts';
import { oauthPage } from './oauth-page-http.ts';
import { renderError } from '../../platform/http/render-error.ts';

export interface OAuthRoutesDeps {
  readonly oauth: OAuthApp;
  readonly install: (code: string) => Promise<InstallOutcome>;
  readonly limits: Limits;
  readonly perMinute: number;
  readonly log: Log;
}

const PATH = '/oauth/callback/crm';
const MAX_CODE = 4096;
const MAX_BODY = 65_536;

/** `GET` and `POST /oauth/callback/crm`, the redirect target after an installation (O1–O5, L5). The code is never echoed or logged. */
export function oauthRoutes(deps: OAuthRoutesDeps) {
  const limit: Limit = { name: 'oauth', max: deps.perMinute, windowSec: 60 };

  async function handleCallback(request: FastifyRequest, reply: FastifyReply): Promise<object> {
    const verdict = await deps.limits.take(limit, addressKey(request.ip));
    void reply.headers(rateLimitHeaders(verdict));
    if (!verdict.allowed)
      throw new RequestError(
        'TOO_MANY_REQUESTS',
        { message: 'Too many callbacks from this address; wait until the minute is over.' },
        { status: 429, label: 'TOO_MANY_REQUESTS' },
      );
    requireReady(deps.oauth);
    const code = codeIn(request.query) ?? codeIn(request.body);
    if (code === undefined) throw codeMissing();
    return bodyFor(await installed(code));
  }

  async function installed(code: string): Promise<InstallOutcome> {
    try {
      return await deps.install(code);
    } catch (error) {
      deps.log.error({ event: 'grant.not_stored', err: error }, 'grant not stored');
      return { kind: 'failed' };
    }
  }

  async function respond(request: FastifyRequest, reply: FastifyReply) {
    void reply.headers({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
    const body = await handleCallback(request, reply);
    return wantsPage(request) ? oauthPage(reply, 'Footbridge is connected', describe(body)) : body;
  }

  return (app: FastifyInstance): void => {
    // A HEAD request from a browser must not use up the code.
    app.get(PATH, { exposeHeadRoute: false }, respond);
    app.post(PATH, { bodyLimit: MAX_BODY }, respond);
    const render = renderError(deps.log, sendPage);
    app.setErrorHandler(async (error, request, reply) => {
      try {
        // A body that cannot be read has no code, but the query may have one (O1, O4).
        if (isUnreadableBody(error)) return await respond(request, reply.code(200));
        render(error, request, reply);
      } catch (fault) {
        render(fault, request, reply);
      }
      return reply;
    });
    app.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string' },
      async (_request: FastifyRequest, body: string) => Object.fromEntries(new URLSearchParams(body)),
    );
    // With any other body type the code can still be in the query.
    app.addContentTypeParser('*', { parseAs: 'string' }, async () => undefined);
  };
}

/** Whether Fastify rejected a request because of its body, before the route. */
const isUnreadableBody = (error: unknown): boolean =>
  !(error instanceof RequestError) && error instanceof Error && 'statusCode' in error;

function requireReady(oauth: OAuthApp): void {
  if (oauth.state === 'disabled')
    throw new RequestError(
      'OAUTH_DISABLED',
      { message: 'OAuth is disabled on this service; it uses private integration tokens.' },
      { status: 503, label: 'OAuth is disabled' },
    );
  if (oauth.state === 'incomplete')
    throw new RequestError(
      'OAUTH_NOT_CONFIGURED',
      { message: 'OAuth is enabled, but settings are missing.', missing: oauth.missing },
      { status: 500, label: 'OAuth is not configured' },
    );
}

const codeMissing = () =>
  new RequestError(
    'INVALID_REQUEST',
    { message: 'The authorisation code is missing. Start the installation from the CRM.' },
    { status: 400, label: 'Invalid request' },
  );

function codeIn(fields: unknown): string | undefined {
  if (typeof fields !== 'object' || fields === null || !Object.hasOwn(fields, 'code')) return undefined;
  const { code } = fields as { code: unknown };
  if (typeof code !== 'string' || code.trim() === '' || code.length > MAX_CODE) return undefined;
  return code.trim();
}

function bodyFor(outcome: InstallOutcome): object {
  if (outcome.kind === 'rejected')
    throw exchangeFailed(
      400,
      'The CRM rejected the code. A code works once and expires quickly: start the installation again.',
    );
  if (outcome.kind === 'failed')
    throw exchangeFailed(500, 'The CRM issued no tokens. Start the installation again in a few minutes.');
  const { companyId } = outcome;
  if (outcome.kind === 'location') return { status: 'success', locationId: outcome.locationId, companyId };
  const { locations, failed, later } = outcome;
  const [locationId] = locations.length === 1 ? locations : [];
  return { status: 'success', ...(locationId && { locationId }), companyId, locations, failed, later };
}

const exchangeFailed = (status: 400 | 500, message: string) =>
  new RequestError('OAUTH_EXCHANGE_FAILED', { message }, { status, label: 'OAuth exchange failed' });

/** Only a person's browser gets a page: it accepts HTML and does not mention JSON (O1). */
function wantsPage({ headers: { accept = '' } }: FastifyRequest): boolean {
  return /text\/html/i.test(accept) && !/json/i.test(accept);
}

function sendPage(error: RequestError, request: FastifyRequest, reply: FastifyReply): boolean {
  if (!wantsPage(request)) return false;
  void oauthPage(reply, error.label, adviceIn(error), error.code);
  return true;
}

const adviceIn = ({ details }: RequestError) => {
  const { message, missing } = details;
  const names = Array.isArray(missing) ? ` Missing: ${missing.join(', ')}.` : '';
  return `${typeof message === 'string' ? message : ''}${names}`;
};

function describe(body: object): string {
  const { locationId, locations, later } = body as {
    locationId?: string;
    locations?: string[];
    later?: number;
  };
  if (locationId !== undefined)
    return `Location ${locationId} can now send and receive. You can close this page.`;
  const more = later ? ` ${later} more are being connected.` : '';
  return `${locations?.length ?? 0} locations can now send and receive.${more} You can close this page.`;
}
