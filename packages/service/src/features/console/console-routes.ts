import type { FastifyInstance, FastifyReply } from 'fastify';

import { RequestError } from '../../platform/errors.ts';
import { PAGE_HEADERS } from '../../platform/operator/page-headers.ts';

/** A built page of the console, or a file that it needs. */
export interface ConsoleFile {
  readonly type: string;
  readonly body: Buffer;
}

const PAGE = 'index.html';

/** `GET /console`: the operator's web pages. The pages contain no data: they read it from the operator API after sign-in. */
export function consoleRoutes(files: ReadonlyMap<string, ConsoleFile> | undefined) {
  function send(reply: FastifyReply, name: string): FastifyReply {
    const file = files?.get(name);
    if (file === undefined)
      throw new RequestError('NOT_FOUND', {
        message: 'The console was not built. Run `npm run console`, then restart the service.',
      });
    // Names of scripts and styles contain a hash of their content.
    const caching = name === PAGE ? 'no-cache' : 'max-age=31536000, immutable';
    return reply
      .headers({ ...PAGE_HEADERS, 'Cache-Control': caching })
      .type(file.type)
      .send(file.body);
  }

  return (app: FastifyInstance): void => {
    app.get('/', (_request, reply) => reply.redirect('/console'));
    app.get('/console', (_request, reply) => send(reply, PAGE));
    app.get<{ Params: { '*': string } }>('/console/*', (request, reply) => {
      const name = request.params['*'].replace(/^assets\//, '');
      return send(reply, files?.has(name) === true ? name : PAGE);
    });
  };
}
