import { isObject } from '@footbridge/protocol/schema';
import { issueToken, readToken, sameSecret, TOKEN_LIFE_SEC } from './crm-tokens.ts';
import { jsonOf, parseInbound, parseStatus, type InboundMessage, type StatusUpdate } from './parse-calls.ts';
import { headerValues, type RequestHeaders } from './request-headers.ts';

/** A call that the bridge makes to the CRM. */
export interface CrmCall {
  readonly method: string;
  /** The path with its query, or the whole URL. Anything before the path of the call is ignored. */
  readonly url: string;
  readonly headers: RequestHeaders;
  /** Text, or JSON or form fields that the framework parsed. */
  readonly body?: unknown;
}

/** Respond with this status and this body as JSON. */
export interface CrmResponse {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

type Awaitable<T> = T | Promise<T>;

/** The credentials and functions of a CRM that the bridge needs. */
export interface Crm {
  /** `CRM_OAUTH_CLIENT_ID` and `CRM_OAUTH_CLIENT_SECRET` of the service. The secret has at least 32 characters. */
  readonly clientId: string;
  readonly clientSecret: string;
  /** Returns the id of the contact with this phone number or email address. */
  findContact(locationId: string, handle: string): Awaitable<string | undefined>;
  createContact(locationId: string, handle: string): Awaitable<string>;
  /** Stores a message and returns its id. A message with a known `idempotencyKey` is not stored again: its id is returned. */
  saveMessage(message: InboundMessage & { readonly idempotencyKey?: string }): Awaitable<string>;
  /** Returns whether the location has the message. */
  saveStatus(
    update: StatusUpdate & { readonly locationId: string; readonly messageId: string },
  ): Awaitable<boolean>;
}

const STATUS_PATH = /\/conversations\/messages\/([^/]+)\/status$/;

/**
 * Handles a call of the bridge: OAuth tokens, contacts, inbound messages and statuses. Rejects calls without a valid token
 * of the location. Rethrows errors of the CRM functions: respond with 500, and the bridge retries.
 */
export async function receiveCall(call: CrmCall, crm: Crm): Promise<CrmResponse> {
  const url = URL.canParse(call.url, BASE) ? new URL(call.url, BASE) : new URL(BASE);
  const is = (method: string, path: RegExp) => call.method === method && path.test(url.pathname);
  if (is('POST', /\/oauth\/token$/)) return grantTokens(crm, formOf(call.body));

  const locationId = await readToken('access', bearerOf(call.headers), crm.clientSecret);
  if (locationId === undefined) return errorResponse(401, 'The token is invalid or has expired.');
  if (is('GET', /\/contacts\/search\/duplicate$/)) return findContact(crm, locationId, url.searchParams);
  if (is('POST', /\/contacts\/(?:upsert)?$/)) return upsertContact(crm, locationId, jsonOf(call.body));
  if (is('POST', /\/conversations\/messages\/inbound$/)) return saveMessage(crm, locationId, call);
  if (is('PUT', STATUS_PATH)) return saveStatus(crm, locationId, url.pathname, call.body);
  return errorResponse(404, 'Unknown call.');
}

/** Exchanges a code or a refresh token for tokens of its location. */
async function grantTokens(crm: Crm, form: Readonly<Record<string, unknown>>): Promise<CrmResponse> {
  const { client_id: id, client_secret: secret, grant_type: type } = form;
  if (id !== crm.clientId || typeof secret !== 'string' || !(await sameSecret(secret, crm.clientSecret)))
    return { status: 401, body: { error: 'invalid_client' } };
  const isRefresh = type === 'refresh_token';
  const grant = isRefresh ? form['refresh_token'] : form['code'];
  const locationId = await readToken(isRefresh ? 'refresh' : 'code', String(grant), crm.clientSecret);
  if (locationId === undefined) return { status: 400, body: { error: 'invalid_grant' } };
  return {
    status: 200,
    body: {
      access_token: await issueToken('access', locationId, crm.clientSecret),
      refresh_token: await issueToken('refresh', locationId, crm.clientSecret),
      token_type: 'Bearer',
      expires_in: TOKEN_LIFE_SEC.access,
      userType: 'Location',
      locationId,
    },
  };
}

async function findContact(crm: Crm, locationId: string, query: URLSearchParams): Promise<CrmResponse> {
  const handle = query.get('number') ?? query.get('email');
  if (query.get('locationId') !== locationId) return OTHER_LOCATION;
  if (!handle) return errorResponse(400, 'number or email is required.');
  const id = await crm.findContact(locationId, handle);
  return { status: 200, body: { contact: id === undefined ? null : { id, locationId } } };
}

async function upsertContact(crm: Crm, locationId: string, body: unknown): Promise<CrmResponse> {
  const { locationId: owner, phone, email } = isObject(body) ? body : {};
  const handle = phone ?? email;
  if (owner !== locationId) return OTHER_LOCATION;
  if (typeof handle !== 'string' || handle === '') return errorResponse(400, 'phone or email is required.');
  const id = (await crm.findContact(locationId, handle)) ?? (await crm.createContact(locationId, handle));
  return { status: 200, body: { contact: { id, locationId } } };
}

async function saveMessage(crm: Crm, locationId: string, call: CrmCall): Promise<CrmResponse> {
  const parsed = parseInbound(call.body);
  if (!parsed.ok) return errorResponse(400, parsed.reason);
  if (parsed.value.locationId !== locationId) return OTHER_LOCATION;
  const [idempotencyKey] = headerValues(call.headers, 'Idempotency-Key');
  const messageId = await crm.saveMessage({ ...parsed.value, ...(idempotencyKey && { idempotencyKey }) });
  return { status: 200, body: { success: true, messageId } };
}

async function saveStatus(crm: Crm, locationId: string, path: string, body: unknown): Promise<CrmResponse> {
  const messageId = decoded(STATUS_PATH.exec(path)?.[1] ?? '');
  const parsed = parseStatus(body);
  if (!parsed.ok) return errorResponse(400, parsed.reason);
  const isKnown =
    messageId !== undefined && (await crm.saveStatus({ ...parsed.value, locationId, messageId }));
  return isKnown ? { status: 200, body: { success: true } } : errorResponse(404, 'Message not found.');
}

const BASE = 'http://crm.invalid';
const OTHER_LOCATION = errorResponse(403, 'The token is not for this location.');

function errorResponse(status: number, message: string): CrmResponse {
  return { status, body: { message } };
}

function bearerOf(headers: RequestHeaders): string {
  const [value = '', ...others] = headerValues(headers, 'Authorization');
  return others.length === 0 ? (/^Bearer +(\S+)$/i.exec(value)?.[1] ?? '') : '';
}

function formOf(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body === 'string') return Object.fromEntries(new URLSearchParams(body));
  return isObject(body) ? body : {};
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
