import { isObject } from '@footbridge/protocol/schema';

import type { IssuedTokens, TokenEndpoint, TokenOutcome } from '../../flows/oauth/token-endpoint.ts';
import { presentable, readJson, wordsOf } from './crm-reason.ts';
import type { HttpResponse, NoResponse, Transport } from './transport.ts';

export interface TokenEndpointOptions {
  readonly transport: Transport;
  readonly tokenUrl: string;
  readonly crmHost: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

const VERSION = '2021-07-28';
const FORM = ['content-type', 'application/x-www-form-urlencoded', 'accept', 'application/json'];
/** What an answer that names no lifetime is trusted for; a token that ends sooner is refreshed when it is refused. */
const USUAL_LIFE_SEC = 86_400;
const LONGEST_LIFE_SEC = 10 * 365 * 86_400;
const PAGE = 100;
const MOST_LOCATIONS = 10_000;

/** A token goes into a header as it is: nothing else may stand there. */
const FITS_A_HEADER = /^[\x21-\x7e]{1,16384}$/;
const INACTIVE = /location is not active/i;
const INVALID = /invalid[_ ]grant|refresh token (is invalid|not found|has expired|was already used)/i;

/** The CRM's OAuth calls over HTTP. Answers are read leniently: the real ones carry many more fields, and some documented ones are missing. */
export function createTokenEndpoint(options: TokenEndpointOptions): TokenEndpoint {
  const { transport, clientId, clientSecret } = options;
  const tokenUrl = new URL(options.tokenUrl);
  const host = new URL(options.crmHost);
  const prefix = host.pathname.replace(/\/$/, '');

  const ask = async (fields: Record<string, string>, ...secrets: string[]): Promise<TokenOutcome> => {
    const all = { client_id: clientId, client_secret: clientSecret, ...fields };
    const answer = await transport.send({
      origin: tokenUrl.origin,
      method: 'POST',
      path: tokenUrl.pathname + tokenUrl.search,
      headers: FORM,
      body: new URLSearchParams(all).toString(),
      wantsBody: true,
    });
    return readOutcome(answer, [clientSecret, ...secrets]);
  };

  return {
    exchange: async (code) => {
      const outcome = await ask({ grant_type: 'authorization_code', code }, code);
      return outcome.kind === 'inactive' || outcome.kind === 'refused'
        ? { kind: 'invalid', reason: outcome.reason }
        : outcome;
    },
    refresh: (refreshToken, userType) =>
      ask({ grant_type: 'refresh_token', refresh_token: refreshToken, user_type: userType }, refreshToken),
    async mint(companyToken, companyId, locationId) {
      const answer = await transport.send({
        origin: host.origin,
        method: 'POST',
        path: `${prefix}/oauth/locationToken`,
        headers: ['authorization', `Bearer ${companyToken}`, 'version', VERSION, ...FORM],
        body: new URLSearchParams({ companyId, locationId }).toString(),
        wantsBody: true,
      });
      const outcome = readOutcome(answer, [companyToken]);
      if (outcome.kind !== 'issued') return outcome;
      if ((outcome.tokens.locationId ?? locationId) !== locationId)
        return { kind: 'refused', reason: 'an answer with the tokens of another location' };
      // The answer is for what was asked, also where it does not say so.
      return { kind: 'issued', tokens: { ...outcome.tokens, companyId, locationId } };
    },
    async installedLocations(companyToken, companyId) {
      const found: string[] = [];
      // The app's id is the part of the client id before the dash.
      const [appId = clientId] = clientId.split('-');
      for (let skip = 0; skip < MOST_LOCATIONS; skip += PAGE) {
        const query = new URLSearchParams({
          companyId,
          appId,
          isInstalled: 'true',
          skip: String(skip),
          limit: String(PAGE),
        });
        const answer = await transport.send({
          origin: host.origin,
          method: 'GET',
          path: `${prefix}/oauth/installedLocations?${query.toString()}`,
          headers: [
            'authorization',
            `Bearer ${companyToken}`,
            'version',
            VERSION,
            'accept',
            'application/json',
          ],
          wantsBody: true,
        });
        const page = 'text' in answer && answer.status < 300 ? locationsIn(readJson(answer.text)) : undefined;
        if (page === undefined) return found.length > 0 ? found : undefined;
        found.push(...page);
        if (page.length < PAGE) break;
      }
      return found;
    },
  };
}

function readOutcome(answer: HttpResponse | NoResponse, secrets: readonly string[]): TokenOutcome {
  if ('reason' in answer) return { kind: 'away', reason: answer.reason };
  const { status } = answer;
  const body = readJson(answer.text);
  if (status >= 200 && status < 300) {
    const tokens = readTokens(body);
    return tokens === undefined
      ? { kind: 'away', reason: 'an answer without a usable access token' }
      : { kind: 'issued', tokens };
  }
  const words = wordsOf(body);
  const reason = `${status} ${presentable(words, secrets)}`.trim();
  if (status < 400 || status === 408 || status === 429 || status >= 500) return { kind: 'away', reason };
  if (INACTIVE.test(words)) return { kind: 'inactive', reason };
  const code = isObject(body) && typeof body['error'] === 'string' ? body['error'] : '';
  return INVALID.test(`${code} ${words}`) ? { kind: 'invalid', reason } : { kind: 'refused', reason };
}

function readTokens(body: unknown): IssuedTokens | undefined {
  if (!isObject(body)) return undefined;
  const { access_token: accessToken, approvedLocations: approved } = body;
  const lifeSec = Number(body['expires_in'] ?? USUAL_LIFE_SEC);
  if (typeof accessToken !== 'string' || !FITS_A_HEADER.test(accessToken) || !(lifeSec > 0)) return undefined;
  return {
    accessToken,
    refreshToken: textOf(body['refresh_token']),
    expiresInSec: Math.min(lifeSec, LONGEST_LIFE_SEC),
    userType: body['userType'] === 'Company' ? 'Company' : 'Location',
    companyId: idOf(body['companyId']),
    locationId: body['userType'] === 'Company' ? null : idOf(body['locationId']),
    approvedLocations: Array.isArray(approved) ? approved.map(idOf).filter((id) => id !== null) : [],
  };
}

function locationsIn(body: unknown): string[] | undefined {
  if (!isObject(body) || !Array.isArray(body['locations'])) return undefined;
  return body['locations']
    .filter((entry) => isObject(entry) && entry['isInstalled'] !== false)
    .map((entry) => idOf(entry['_id']) ?? idOf(entry['id']) ?? idOf(entry['locationId']))
    .filter((id) => id !== null);
}

/** What a database and a log line can hold. */
const idOf = (value: unknown): string | null =>
  typeof value === 'string' && /\S/.test(value) && !/\p{Cc}|\p{Cs}/u.test(value) ? value : null;

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
