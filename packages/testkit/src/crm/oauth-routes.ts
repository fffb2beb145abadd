import { randomUUID } from 'node:crypto';
import { badRequest, LOCATION_NOT_ACTIVE, oauthError, ok, unprocessable } from './responses.ts';
import type { CrmResponse } from './responses.ts';
import { fieldsOf, textOf } from './values.ts';
import type { CrmState, Handler } from './state.ts';

export const token: Handler = (state, { body }) => {
  const fields = fieldsOf(body);
  for (const name of ['client_id', 'client_secret', 'grant_type']) {
    if (!textOf(fields[name])) return oauthError(400, 'invalid_request', `Missing parameter: \`${name}\``);
  }
  if (fields['grant_type'] === 'authorization_code') return exchange(state, fields);
  if (fields['grant_type'] === 'refresh_token') return refresh(state, fields);
  return oauthError(400, 'unsupported_grant_type', 'Unsupported grant type: `grant_type` is invalid');
};

export const locationToken: Handler = (state, { body, identity }) => {
  const fields = fieldsOf(body);
  const companyId = textOf(fields['companyId']);
  const locationId = textOf(fields['locationId']);
  if (!companyId) return unprocessable('companyId must be a string');
  if (!locationId) return unprocessable('locationId must be a string');
  const minted = identity && state.grants.mintLocation(identity, companyId, locationId);
  return minted ? { status: 201, body: minted } : badRequest('Location not found');
};

export const installedLocations: Handler = (state, { call, identity }) => {
  const { companyId, appId, skip = '0', limit = '20' } = call.query;
  if (!companyId) return unprocessable('companyId must be a string');
  if (!appId) return unprocessable('appId must be a string');
  const isOurs = identity?.companyId === companyId && appId === state.settings.clientId.split('-')[0];
  const locations = isOurs ? identity.locations : [];
  return ok({
    locations: locations.slice(Number(skip), Number(skip) + Number(limit)).map((id) => ({
      _id: id,
      name: `Location ${id}`,
      address: '1 Loopback Lane',
      isInstalled: true,
    })),
    count: locations.length,
    installToFutureLocations: false,
  });
};

// As in HighLevel, the code is checked before the client credentials.
function exchange(state: CrmState, fields: Record<string, unknown>): CrmResponse {
  const code = textOf(fields['code']);
  if (!code) return oauthError(400, 'invalid_request', 'Missing parameter: `code`');
  if (!state.grants.hasCode(code)) return oauthError(401, 'UnAuthorized!', 'Authorization code not found');
  if (!isOurClient(state, fields)) return oauthError(401, 'UnAuthorized!', 'Client credentials are invalid');
  const tokens = state.grants.exchange(code);
  return tokens
    ? { status: 200, body: tokens }
    : oauthError(401, 'UnAuthorized!', 'Authorization code not found');
}

function refresh(state: CrmState, fields: Record<string, unknown>): CrmResponse {
  const refreshToken = textOf(fields['refresh_token']);
  if (!refreshToken) return oauthError(400, 'invalid_request', 'Missing parameter: `refresh_token`');
  if (!isOurClient(state, fields)) {
    return oauthError(400, 'invalid_client', 'Invalid client: client is invalid');
  }
  const refreshed = state.grants.refresh(refreshToken);
  if (refreshed.ok) return { status: 200, body: refreshed.tokens };
  if (refreshed.reason === 'invalid') {
    return oauthError(400, 'invalid_grant', 'Invalid grant: refresh token is invalid');
  }
  return { status: 400, body: { statusCode: 400, message: LOCATION_NOT_ACTIVE, traceId: randomUUID() } };
}

function isOurClient(state: CrmState, fields: Record<string, unknown>): boolean {
  return (
    fields['client_id'] === state.settings.clientId && fields['client_secret'] === state.settings.clientSecret
  );
}
