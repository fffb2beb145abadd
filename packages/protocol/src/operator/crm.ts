import { list, nullable, object, strict } from '../schema.ts';
import { call } from './call.ts';
import {
  atMost,
  count,
  countOrNull,
  flag,
  next,
  oneOf,
  page,
  text,
  textOrNull,
  time,
  timeOrNull,
} from './parts.ts';

/** Why the service cannot read the tokens, and what to do. */
const tokenProblem = nullable(object({ sentence: text, action: text }));

export const listGrants = call('GET', '/operator/grants', {
  summary: 'The grants of the CRM, without their tokens',
  locations: 'none',
  query: strict({}, page),
  response: object(
    {
      grants: list(
        object({
          kind: oneOf('location', 'company'),
          ownerId: text,
          companyId: textOrNull,
          state: text,
          expiresAt: timeOrNull,
          refreshedAt: time,
          lastError: textOrNull,
          problem: tokenProblem,
        }),
      ),
      privateTokens: list(
        object({
          locationId: text,
          state: oneOf('active', 'unreadable'),
          updatedAt: time,
          problem: tokenProblem,
        }),
      ),
    },
    next,
  ),
  notes:
    '`state` is `expected`, `active`, `reauth_required`, `uninstalled` or `unreadable`; `problem` says why tokens are unreadable and what to do, else it is null.',
});

export const removeGrant = call('DELETE', '/operator/grants/:locationId', {
  summary: 'Remove the grant of a location',
  locations: 'none',
  errors: ['NOT_FOUND', 'CONFLICT'],
});

export const setPrivateToken = call('PUT', '/operator/locations/:locationId/private-token', {
  summary: 'Set the private integration token of a location',
  locations: 'none',
  body: strict({
    token: {
      type: 'string',
      pattern: '^[\\x21-\\x7e]{8,4096}$',
      description: 'the token alone, without spaces or "Bearer"',
    },
  }),
  errors: ['CONFLICT'],
});

export const removePrivateToken = call('DELETE', '/operator/locations/:locationId/private-token', {
  summary: 'Remove it',
  locations: 'none',
  errors: ['NOT_FOUND', 'CONFLICT'],
});

const key = object({
  id: text,
  label: text,
  scheme: text,
  header: text,
  fingerprint: text,
  publicKey: text,
  locations: nullable(list(text)),
  enabled: flag,
  source: oneOf('settings', 'operator'),
  createdAt: timeOrNull,
  lastUsedAt: timeOrNull,
});

const locations = nullable(list(text));

export const addKey = call('POST', '/operator/keys', {
  summary: 'Trust a public key of the CRM',
  locations: 'none',
  body: {
    anyOf: [
      strict({ preset: oneOf('highlevel', 'highlevel-legacy') }, { label: text, locations }),
      strict({ label: text, scheme: text, header: text, publicKey: text }, { locations }),
    ],
  },
  status: 201,
  response: key,
  errors: ['CONFLICT'],
});

export const listKeys = call('GET', '/operator/keys', {
  summary: 'The keys that signatures are verified with',
  locations: 'none',
  query: strict({}, page),
  response: object({ keys: list(key) }, next),
  notes:
    '`lastUsedAt` is when this node last verified a webhook with the key, or null when it has not since its start.',
});

export const changeKey = call('PATCH', '/operator/keys/:id', {
  summary: 'Enable or disable a key',
  locations: 'none',
  body: strict({ enabled: flag }),
  response: key,
  errors: ['NOT_FOUND', 'CONFLICT'],
});

export const removeKey = call('DELETE', '/operator/keys/:id', {
  summary: 'Remove a key',
  locations: 'none',
  errors: ['NOT_FOUND', 'CONFLICT'],
});

export const listRejections = call('GET', '/operator/keys/rejections', {
  summary: 'The signatures that this node rejected within the last hour',
  locations: 'none',
  response: object({
    rejections: list(
      object({
        step: oneOf('header', 'base64', 'length', 'location', 'key'),
        header: textOrNull,
        locationId: textOrNull,
        count,
        lastAt: time,
      }),
    ),
  }),
  notes:
    'By step (`header`, `base64`, `length`, `location`, `key`) and header, at most a thousand each; `locationId` is the one that the latest of them named, or null.',
});

export const diagnoseSignature = call('POST', '/operator/keys/diagnose', {
  summary: 'Why the signature of a sample is rejected',
  locations: 'none',
  reads: true,
  body: strict({
    body: {
      type: 'string',
      maxLength: 1_000_000,
      pattern: '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$',
      description: 'the raw request body, in base64',
    },
    signature: atMost(4096),
  }),
  response: object(
    { ok: flag, step: text, reason: text, bodyBytes: count, bodySha256: text },
    { hint: text, key: text, signatureBytes: count },
  ),
  notes: 'The sample is not stored.',
});

export const showCrmApp = call('GET', '/operator/crm-app', {
  summary: 'What to enter in the app at the CRM',
  locations: 'none',
  response: object({
    deliveryUrl: text,
    redirectUrl: text,
    eventsUrl: text,
    scopes: list(object({ scope: text, purpose: text })),
    oauth: oneOf('ready', 'incomplete', 'disabled'),
    missing: list(text),
    installUrl: textOrNull,
  }),
  notes: '`missing` names the settings that are; `installUrl` is null unless `oauth` is `ready`.',
});

export const checkCrm = call('GET', '/operator/locations/:locationId/crm-check', {
  summary: 'Call the CRM with the token of a location',
  locations: 'named',
  response: object({
    locationId: text,
    calls: list(object({ scope: text, ok: flag, kind: textOrNull, status: countOrNull, reason: textOrNull })),
  }),
  notes: 'One call for each scope that can be tried without changing anything.',
});
