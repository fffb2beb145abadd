import { createHash, timingSafeEqual } from 'node:crypto';

import type { FastifyInstance } from 'fastify';

import { RequestError } from '../../errors.ts';
import type { Limit, Limits } from '../../ports/limits/limits.ts';

const FAILURES: Limit = { name: 'operator-login', max: 10, windowSec: 60 };

const digest = (token: string) => createHash('sha256').update(token).digest();

/** Requires the operator token. Ten wrong tokens lock an address out until the minute is over. */
export function requireOperator(token: string, limits: Limits) {
  const expected = digest(token);
  return (app: FastifyInstance): void => {
    app.addHook('onRequest', async (request) => {
      const failures = await limits.peek(FAILURES, request.ip);
      if (failures.remaining === 0)
        throw new RequestError(
          'TOO_MANY_REQUESTS',
          { message: 'Too many wrong operator tokens from this address. Wait a minute.' },
          { retryAfterSec: failures.resetSec },
        );
      // Not `parseBearerToken`: OPERATOR_TOKEN is the operator's own choice, with characters that RFC 6750 does not allow.
      const [, given = ''] = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '') ?? [];
      if (timingSafeEqual(digest(given), expected)) return;
      await limits.take(FAILURES, request.ip);
      throw new RequestError(
        'UNAUTHORIZED',
        {
          message:
            'Send the operator token as "Authorization: Bearer …". It is in OPERATOR_TOKEN or in DATA_DIR/operator-token.',
        },
        { headers: { 'WWW-Authenticate': 'Bearer' } },
      );
    });
  };
}
