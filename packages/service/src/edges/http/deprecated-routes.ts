import type { FastifyInstance } from 'fastify';

const DEPRECATED_AT = '@1738800000';
const SUNSET = 'Fri, 01 May 2026 00:00:00 GMT';
const DOCS = '</docs/deprecations>; rel="deprecation"';

/** Paths that are gone, kept for one release cycle so that late callers learn where to go (H2). */
export function deprecatedRoutes(app: FastifyInstance): void {
  for (const path of ['/send-message', '/crm/send-message']) {
    app.post(path, { bodyLimit: 1_048_576 }, async (_request, reply) =>
      reply
        .code(410)
        .headers({ Deprecation: DEPRECATED_AT, Sunset: SUNSET, Link: DOCS })
        .send({
          error: 'Gone',
          code: 'GONE',
          message: `${path} was switched off on 1 May 2026. Send a signed request to POST /crm/webhook instead.`,
          replacement: '/crm/webhook',
        }),
    );
  }
  // The body does not matter here, whatever its type.
  app.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume();
    done(null);
  });
  app.removeContentTypeParser(['application/json', 'text/plain']);
}
