import { list, nullable, object } from '../schema.ts';
import { call } from './call.ts';
import { flag, text, time } from './parts.ts';

/** Calls about the sessions of browsers and about probes are not in the table: some need no token, and some set a cookie. */
export const showSession = call('GET', '/operator/session', {
  summary: 'Who is signed in',
  locations: 'filtered',
  response: object({ label: text, readOnly: flag, locations: nullable(list(text)), csrf: text }),
  secret: true,
});

export const createSignInCode = call('POST', '/operator/session/codes', {
  summary: 'Create a code that signs a browser in',
  locations: 'filtered',
  reads: true,
  status: 201,
  response: object({ code: text, expiresAt: time }),
  secret: true,
});

export const showReadiness = call('GET', '/readyz', {
  summary: 'Whether the service is ready',
  locations: 'filtered',
  response: object({ status: text }, { checks: { type: 'object', additionalProperties: text } }),
});
