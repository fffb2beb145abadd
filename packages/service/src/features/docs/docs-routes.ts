import type { FastifyInstance } from 'fastify';

import { RequestError } from '../../platform/errors.ts';
import { PAGE_HEADERS } from '../../platform/operator/page-headers.ts';

/** A file of the documentation. */
export interface DocsFile {
  readonly type: string;
  readonly read: () => Promise<Buffer>;
}

const NOT_BUILT =
  'The documentation has not been built. Run `npm run docs` in the checkout and reload this page, or read README.md and the docs folder there.\n';

/**
 * `GET /docs/`: the documentation. It contains no data of the service, so it needs no sign-in. `site` returns its files by name, or
 * undefined while it is not built; it is called for each request, so a site that is built later needs no restart.
 */
export function docsRoutes(site: () => ReadonlyMap<string, DocsFile> | undefined) {
  return (app: FastifyInstance): void => {
    // The links in the pages are relative to /docs/.
    app.get('/docs', (_request, reply) => reply.redirect('/docs/'));
    app.get<{ Params: { '*': string } }>('/docs/*', async (request, reply) => {
      const headers = { ...PAGE_HEADERS, 'Cache-Control': 'no-cache' };
      const files = site();
      if (files === undefined)
        return reply.headers(headers).type('text/plain; charset=utf-8').send(NOT_BUILT);
      const file = files.get(request.params['*'] || 'index.html');
      if (file === undefined)
        throw new RequestError('NOT_FOUND', {
          message: 'The documentation has no such page. Start at /docs/.',
        });
      return reply
        .headers(headers)
        .type(file.type)
        .send(await file.read());
    });
  };
}
