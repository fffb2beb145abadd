import type { FastifyRequest } from 'fastify';

const NAME = 'footbridge_session';
/** Browsers accept this name only over TLS, for the whole host and without a Domain. */
const SECURE_NAME = `__Host-${NAME}`;

/** Returns the session in the cookies. Behind TLS, only a cookie that no other host of the domain could have set. */
export function sessionIn(request: FastifyRequest): string | undefined {
  const cookies = request.headers.cookie;
  const values = new Map(
    (cookies ?? '').split(';').map((cookie) => {
      const [name = '', ...value] = cookie.trim().split('=');
      return [name, value.join('=')];
    }),
  );
  return values.get(SECURE_NAME) ?? (isSecure(request) ? undefined : values.get(NAME));
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
 * itself has no TLS. Each proxy appends to the header, so the first value is about the browser.
 */
const isSecure = ({ headers }: FastifyRequest) =>
  /^\s*https\s*(,|$)/i.test(String(headers['x-forwarded-proto'] ?? ''));
