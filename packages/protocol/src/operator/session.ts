import { list, nullable, object, strict } from '../schema.ts';
import { call } from './call.ts';
import { flag, text, time } from './parts.ts';

/** Calls about the sessions of browsers and about probes are not in the table: some need no token, and some set a cookie. */
const session = object({ label: text, readOnly: flag, locations: nullable(list(text)), csrf: text });

export const showSession = call('GET', '/operator/session', {
  summary: 'Who is signed in',
  locations: 'filtered',
  response: session,
  secret: true,
});

export const signIn = call('POST', '/operator/session', {
  summary: 'Sign in with a token, or with the code of a sign-in link',
  locations: 'filtered',
  reads: true,
  body: {
    anyOf: [
      strict({ token: { type: 'string', minLength: 1, maxLength: 4096 } }),
      strict({ code: { type: 'string', minLength: 1, maxLength: 256 } }),
    ],
    description: 'an object with either a token or a code',
  },
  // It is parsed before authentication.
  bodyLimit: 16_384,
  response: session,
  secret: true,
});

export const signOut = call('DELETE', '/operator/session', { summary: 'Sign out', locations: 'filtered' });

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
