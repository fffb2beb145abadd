import { randomUUID } from 'node:crypto';
import { badRequest, LOCATION_NOT_ACTIVE, oauthError, ok, unprocessable } from './answers.ts';
import type { Answer } from './answers.ts';
import { fieldsOf, textOf } from './reading.ts';
import type { CrmState, Handle } from './state.ts';

export const token: Handle = (state, { body }) => {
  const fields = fieldsOf(body);
  for (const name of ['client_id', 'client_secret', 'grant_type']) {
    if (!textOf(fields[name])) return oauthError(400, 'invalid_request', `Missing parameter: \`${name}\``);
  }
  if (fields['grant_type'] === 'authorization_code') return exchange(state, fields);
  if (fields['grant_type'] === 'refresh_token') return refresh(state, fields);
  return oauthError(400, 'unsupported_grant_type', 'Unsupported grant type: `grant_type` is invalid');
};

export const locationToken: Handle = (state, { body, bearer }) => {
  const fields = fieldsOf(body);
  const companyId = textOf(fields['companyId']);
  const locationId = textOf(fields['locationId']);
  if (!companyId) return unprocessable('companyId must be a string');
  if (!locationId) return unprocessable('locationId must be a string');
  const minted = bearer && state.grants.mintLocation(bearer, companyId, locationId);
  return minted ? { status: 201, body: minted } : badRequest('Location not found');
};

export const installedLocations: Handle = (state, { call, bearer }) => {
  const { companyId, appId, skip = '0', limit = '20' } = call.query;
  if (!companyId) return unprocessable('companyId must be a string');
  if (!appId) return unprocessable('appId must be a string');
  const isOurs = bearer?.companyId === companyId && appId === state.settings.clientId.split('-')[0];
  const locations = isOurs ? bearer.locations : [];
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

// The code is looked at before the client's credentials: a wrong client with a wrong code learns of the code.
function exchange(state: CrmState, fields: Record<string, unknown>): Answer {
  const code = textOf(fields['code']);
  if (!code) return oauthError(400, 'invalid_request', 'Missing parameter: `code`');
  if (!state.grants.knowsCode(code)) return oauthError(401, 'UnAuthorized!', 'Authorization code not found');
  if (!isOurClient(state, fields)) return oauthError(401, 'UnAuthorized!', 'Client credentials are invalid');
  const answer = state.grants.exchange(code);
  return answer
    ? { status: 200, body: answer }
    : oauthError(401, 'UnAuthorized!', 'Authorization code not found');
}

function refresh(state: CrmState, fields: Record<string, unknown>): Answer {
  const refreshToken = textOf(fields['refresh_token']);
  if (!refreshToken) return oauthError(400, 'invalid_request', 'Missing parameter: `refresh_token`');
  if (!isOurClient(state, fields)) {
    return oauthError(400, 'invalid_client', 'Invalid client: client is invalid');
  }
  const refreshed = state.grants.refresh(refreshToken);
  if (refreshed.ok) return { status: 200, body: refreshed.answer };
  if (refreshed.why === 'invalid') {
    return oauthError(400, 'invalid_grant', 'Invalid grant: refresh token is invalid');
  }
  return { status: 400, body: { statusCode: 400, message: LOCATION_NOT_ACTIVE, traceId: randomUUID() } };
}

function isOurClient(state: CrmState, fields: Record<string, unknown>): boolean {
  return (
    fields['client_id'] === state.settings.clientId && fields['client_secret'] === state.settings.clientSecret
  );
}
