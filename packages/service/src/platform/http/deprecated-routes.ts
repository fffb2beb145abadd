import type { Log } from '@footbridge/runtime/log';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const DEPRECATED_AT = '@1738800000';
const SUNSET = 'Fri, 01 May 2026 00:00:00 GMT';
const PAGE = '/docs/deprecations';

const TEXT = `Removed on 1 May 2026, deprecated since 6 February 2025:

POST /send-message      use POST /crm/webhook with locationId, contactId and message or attachments; sign it; phone may be left out
POST /crm/send-message  use POST /crm/webhook; only the path changes
`;

export interface DeprecatedRoutesDeps {
  readonly log: Log;
  readonly count: (path: string) => void;
}

/** Removed paths, kept for one release cycle so that callers learn the replacement. Each call is logged and counted (H2). */
export function deprecatedRoutes({ log, count }: DeprecatedRoutesDeps) {
  return (app: FastifyInstance): void => {
    for (const path of ['/send-message', '/crm/send-message']) {
      const respond = async (request: FastifyRequest, reply: FastifyReply) => {
        log.warn({ event: 'http.deprecated_path', requestId: request.id, path }, 'removed path called');
        count(path);
        return reply
          .code(410)
          .headers({ Deprecation: DEPRECATED_AT, Sunset: SUNSET, Link: `<${PAGE}>; rel="deprecation"` })
          .send({
            error: 'Gone',
            code: 'GONE',
            message: `${path} was switched off on 1 May 2026. Send a signed request to POST /crm/webhook instead.`,
            replacement: '/crm/webhook',
          });
      };
      // As a hook, so that the body is not read, whatever its type and size.
      app.post(path, { onRequest: respond }, respond);
    }
    app.get(PAGE, async (_request, reply) => reply.type('text/plain; charset=utf-8').send(TEXT));
  };
}
