import fastify from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';

import { createCleanup } from '@footbridge/testkit/cleanup';

import { docsRoutes } from './docs-routes.ts';
import type { DocsFile } from './docs-routes.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const PAGE: DocsFile = { type: 'text/html', read: () => Promise.resolve(Buffer.from('<h1>Hi</h1>')) };

describe('the documentation', () => {
  it('says how to build it while it is missing, and needs no restart once it is built', async () => {
    let site: Map<string, DocsFile> | undefined;
    const app = fastify();
    cleanup.add(() => app.close());
    docsRoutes(() => site)(app);
    const before = await app.inject('/docs/crm.html');
    expect([before.statusCode, before.headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(before.body).toContain('npm run docs');
    site = new Map([['crm.html', PAGE]]);
    expect(await app.inject('/docs/crm.html')).toMatchObject({ statusCode: 200, body: '<h1>Hi</h1>' });
  });
});
