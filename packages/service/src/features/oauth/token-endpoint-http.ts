import { readJson } from '@footbridge/protocol/read-json';
import { isObject } from '@footbridge/protocol/schema';

import { appIdOf } from './app-events.ts';
import type { IssuedTokens, LocationPage, TokenEndpoint } from './token-endpoint.ts';
import { failed, succeeded } from '../../platform/retry/retry.ts';
import type { Attempt } from '../../platform/retry/retry.ts';
import { redactMessage, messageOf } from '../../relay/crm/failed-response.ts';
import type { HttpResponse, NoResponse, Transport } from '../../relay/crm/transport-http.ts';

export interface TokenEndpointDeps {
  readonly transport: Transport;
  readonly tokenUrl: string;
  readonly crmHost: string;
  readonly apiVersion: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

const ACCEPT_JSON = ['accept', 'application/json'];
const FORM = ['content-type', 'application/x-www-form-urlencoded', ...ACCEPT_JSON];
/** Assumed when a response names no lifetime; a token that expires sooner is refreshed when it is rejected. */
const DEFAULT_LIFE_SEC = 86_400;
const MAX_LIFE_SEC = 10 * 365 * 86_400;
const PAGE_SIZE = 100;
const MAX_LOCATIONS = 10_000;

/** Reserved for fiction. */
const UNUSED_NUMBER = '+12025550199';

/** A token is sent as a header value, so it must be one. */
const VALID_HEADER_VALUE = /^[\x21-\x7e]{1,16384}$/;
const INACTIVE = /location is not active/i;
const INVALID = /invalid[_ ]grant|refresh token (is invalid|not found|has expired|was already used)/i;

/** The CRM's OAuth calls over HTTP. Responses are read leniently: real ones have more fields, and some documented ones are missing. */
export function createTokenEndpoint(deps: TokenEndpointDeps): TokenEndpoint {
  const { transport, apiVersion, clientId, clientSecret } = deps;
  const tokenUrl = new URL(deps.tokenUrl);
  const host = new URL(deps.crmHost);
  const prefix = host.pathname.replace(/\/$/, '');

  const requestTokens = async (
    fields: Record<string, string>,
    ...secrets: string[]
  ): Promise<Attempt<IssuedTokens>> => {
    const all = { client_id: clientId, client_secret: clientSecret, ...fields };
    const response = await transport.send({
      origin: tokenUrl.origin,
      method: 'POST',
      path: tokenUrl.pathname + tokenUrl.search,
      headers: FORM,
      body: new URLSearchParams(all).toString(),
      wantsBody: true,
    });
    return readResponse(response, [clientSecret, ...secrets]);
  };

  const read = (accessToken: string, path: string, query: Record<string, string>) =>
    transport.send({
      origin: host.origin,
      method: 'GET',
      path: `${prefix}${path}?${new URLSearchParams(query).toString()}`,
      headers: ['authorization', `Bearer ${accessToken}`, 'version', apiVersion, ...ACCEPT_JSON],
      wantsBody: true,
    });

  const listInstalled = (companyToken: string, companyId: string, skip: number) =>
    read(companyToken, '/oauth/installedLocations', {
      companyId,
      appId: appIdOf(clientId),
      isInstalled: 'true',
      skip: String(skip),
      limit: String(PAGE_SIZE),
    });

  return {
    exchange: async (code) => {
      const issued = await requestTokens({ grant_type: 'authorization_code', code }, code);
      // A rejected code is never accepted later, whatever the reason (O5).
      return issued.ok || !isRejection(issued.status)
        ? issued
        : { ...issued, kind: 'invalid', retryable: false };
    },
    refresh: (refreshToken, userType) =>
      requestTokens(
        { grant_type: 'refresh_token', refresh_token: refreshToken, user_type: userType },
        refreshToken,
      ),
    async mint(companyToken, companyId, locationId) {
      const response = await transport.send({
        tenant: locationId,
        origin: host.origin,
        method: 'POST',
        path: `${prefix}/oauth/locationToken`,
        headers: ['authorization', `Bearer ${companyToken}`, 'version', apiVersion, ...FORM],
        body: new URLSearchParams({ companyId, locationId }).toString(),
        wantsBody: true,
      });
      const issued = readResponse(response, [companyToken]);
      if (!issued.ok) return issued;
      if ((issued.value.locationId ?? locationId) !== locationId)
        return failed('refused', {
          retryable: false,
          status: response.status,
          reason: 'a response with the tokens of another location',
        });
      // A response that names no location is for the requested one.
      return succeeded({ ...issued.value, companyId, locationId });
    },
    async tryToken(accessToken, kind, ownerId) {
      const response =
        kind === 'company'
          ? await listInstalled(accessToken, ownerId, 0)
          : await read(accessToken, '/contacts/search/duplicate', {
              locationId: ownerId,
              number: UNUSED_NUMBER,
            });
      if ('reason' in response)
        return failed('unavailable', { reason: response.reason, code: response.code });
      const { status } = response;
      if (status >= 200 && status < 300) return succeeded(undefined);
      return isRejection(status) && status !== 408
        ? failed('refused', { retryable: false, status })
        : failed('unavailable', { status });
    },
    installedLocations: async (companyToken, companyId, skip) =>
      readLocations(await listInstalled(companyToken, companyId, skip), skip),
  };
}

function readResponse(
  response: HttpResponse | NoResponse,
  secrets: readonly string[],
): Attempt<IssuedTokens> {
  if ('reason' in response) return failed('unavailable', { reason: response.reason, code: response.code });
  const { status } = response;
  const body = readJson(response.text);
  if (status >= 200 && status < 300) {
    const tokens = readTokens(body);
    if (tokens === undefined)
      return failed('unavailable', { status, reason: 'a response without a usable access token' });
    const issuedAt = Date.parse(response.headers.get('date') ?? '');
    return succeeded(Number.isNaN(issuedAt) ? tokens : { ...tokens, issuedAt });
  }
  const message = messageOf(body);
  const reason = `${status} ${redactMessage(message, secrets)}`.trim();
  if (status < 400 || status === 408 || status === 429 || status >= 500)
    return failed('unavailable', { status, reason });
  const code = isObject(body) && typeof body['error'] === 'string' ? body['error'] : '';
  const kind = INACTIVE.test(message)
    ? 'inactive'
    : INVALID.test(`${code} ${message}`)
      ? 'invalid'
      : 'refused';
  return failed(kind, { retryable: false, status, reason });
}

const isRejection = (status: number) => status >= 400 && status < 500 && status !== 429;

function readTokens(body: unknown): IssuedTokens | undefined {
  if (!isObject(body)) return undefined;
  const { access_token: accessToken, approvedLocations: approved } = body;
  const lifeSec = Number(body['expires_in'] ?? DEFAULT_LIFE_SEC);
  if (typeof accessToken !== 'string' || !VALID_HEADER_VALUE.test(accessToken) || !(lifeSec > 0))
    return undefined;
  return {
    accessToken,
    refreshToken: textOf(body['refresh_token']),
    expiresInSec: Math.min(lifeSec, MAX_LIFE_SEC),
    userType: body['userType'] === 'Company' ? 'Company' : 'Location',
    companyId: idOf(body['companyId']),
    locationId: body['userType'] === 'Company' ? null : idOf(body['locationId']),
    approvedLocations: Array.isArray(approved) ? approved.map(idOf).filter((id) => id !== null) : [],
  };
}

function readLocations(response: HttpResponse | NoResponse, skip: number): Attempt<LocationPage> {
  const body = 'text' in response && response.status < 300 ? readJson(response.text) : undefined;
  if (!isObject(body) || !Array.isArray(body['locations']))
    return failed('unavailable', { status: response.status, reason: 'no list of locations' });
  const listed: unknown[] = body['locations'];
  const locations = listed
    .filter((entry) => isObject(entry))
    .filter((entry) => entry['isInstalled'] !== false)
    .map((entry) => idOf(entry['_id']) ?? idOf(entry['id']) ?? idOf(entry['locationId']))
    .filter((id) => id !== null);
  const nextSkip = skip + PAGE_SIZE;
  const isLast = listed.length < PAGE_SIZE || nextSkip >= MAX_LOCATIONS;
  return succeeded({ locations, nextSkip: isLast ? undefined : nextSkip });
}

/** An id that a database and a log line can hold. */
const idOf = (value: unknown): string | null =>
  typeof value === 'string' && /\S/.test(value) && !/\p{Cc}|\p{Cs}/u.test(value) ? value : null;

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
