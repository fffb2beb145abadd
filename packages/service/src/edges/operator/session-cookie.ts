import type { FastifyRequest } from 'fastify';

const NAME = 'footbridge_session';
/** Browsers accept this name only over TLS, for the whole host and without a Domain. */
const SECURE_NAME = `__Host-${NAME}`;

/** Returns the session in a Cookie header. */
export function sessionIn(cookies: string | undefined): string | undefined {
  const values = new Map(
    (cookies ?? '').split(';').map((cookie) => {
      const [name = '', ...value] = cookie.trim().split('=');
      return [name, value.join('=')];
    }),
  );
  return values.get(SECURE_NAME) ?? values.get(NAME);
}

/** The Set-Cookie header of a new session; without one, the header that removes it. */
export function sessionCookie(request: FastifyRequest, session?: string): string {
  const secure = isSecure(request);
  return [
    `${secure ? SECURE_NAME : NAME}=${session ?? ''}`,
    'Path=/',
    'HttpOnly',
    'SameSite=Strict',
    ...(secure ? ['Secure'] : []),
    ...(session === undefined ? ['Max-Age=0'] : []),
  ].join('; ');
}

/**
 * Trusts the header of any client: a false one only yields a cookie that the client's own browser discards. The listener
 * itself has no TLS.
 */
const isSecure = ({ headers }: FastifyRequest) => headers['x-forwarded-proto'] === 'https';
