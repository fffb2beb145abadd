import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';

import type { Cleanup } from '@footbridge/testkit/cleanup';

import { actions } from './actions.ts';
import { ScenarioRunner } from './scenario-runner.ts';
import { SCENARIOS } from './scenarios.ts';
import type { BuiltPage } from '@footbridge/ui/build-page';
import { MediaStore } from './media-store.ts';
import { Snapshots } from './snapshots.ts';
import { CONTACT, CUSTOMER, FRIEND, LOCATION, listen } from './demo.ts';
import type { Demo } from './demo.ts';

/** No remote assets and no inline scripts or styles. Attachments come from the service. */
const policy = (service: string) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' data: ${service}`,
    `media-src 'self' data: ${service}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** Serves the page. `GET /events` streams all changes, `GET /console` redirects to a sign-in link, `POST /do/<action>` performs an action of the customer or the agent. */
export async function startPage(
  demo: Demo,
  port: number,
  page: BuiltPage | Promise<BuiltPage>,
  cleanup: Cleanup,
): Promise<string> {
  const snapshots = new Snapshots(demo);
  const media = new MediaStore(join(demo.mac.dataDir, 'simulated-messages'));
  const runner = new ScenarioRunner(demo, (state) => snapshots.update('scenarios', state));
  const runAction = actions(demo, runner, media, () => url);
  cleanup.add(() => snapshots.stop());

  const server = createServer((request, response) => {
    response.setHeader('Content-Security-Policy', policy(demo.publicUrl));
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('Referrer-Policy', 'no-referrer');
    route(request, response).catch((error: unknown) => {
      respond(response, 400, { error: error instanceof Error ? error.message : String(error) });
    });
  });

  async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isLocal(request)) return respond(response, 403, { error: 'The demo is only accessible locally.' });
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    const file = (await page).files.get(path);
    const isGet = request.method === 'GET' || request.method === 'HEAD';
    if (isGet && file !== undefined) {
      response.writeHead(200, { 'Content-Type': file.type, 'Cache-Control': 'no-store' }).end(file.body);
    } else if (request.method === 'GET' && path === '/events') {
      snapshots.stream(response);
    } else if (isGet && path.startsWith('/media/')) {
      const found = await media.find(path);
      if (found === undefined) return respond(response, 404, { error: 'File not found.' });
      response.writeHead(200, { 'Content-Type': found.type, 'Cache-Control': 'no-store' }).end(found.body);
    } else if (request.method === 'GET' && path === '/about') {
      respond(response, 200, {
        locationId: LOCATION,
        contactId: CONTACT,
        customer: CUSTOMER,
        friend: FRIEND,
        publicKey: demo.crmPublicKey,
        serviceUrl: demo.publicUrl,
        crmUrl: demo.crmUrl,
        breaks: SCENARIOS.map(({ id, title, promise }) => ({ id, title, promise })),
      });
    } else if (request.method === 'GET' && path === '/console') {
      response.writeHead(303, { Location: await demo.consoleLink(), 'Cache-Control': 'no-store' }).end();
    } else if (request.method === 'POST' && path.startsWith('/do/') && isSameOrigin(request)) {
      respond(response, 200, await runAction(path.slice('/do/'.length), await readJson(request)));
      snapshots.refreshSoon();
    } else {
      respond(response, 404, { error: 'Page not found.' });
    }
  }

  const url = await listen(server, port, cleanup);
  return url;
}

/** Prevents DNS rebinding: a foreign host name that resolves to this machine is rejected. */
const isLocal = ({ headers }: IncomingMessage): boolean =>
  /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(headers.host ?? '');

/** Prevents cross-site requests from other pages in the same browser. */
function isSameOrigin({ headers }: IncomingMessage): boolean {
  return (
    headers['content-type'] === 'application/json' &&
    (headers.origin === undefined || headers.origin === `http://${headers.host}`)
  );
}

function respond(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent) return void response.end();
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body ?? null));
}

const MAX_BODY = 20_000_000;

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_BODY) throw new Error('The request is too large for the demo.');
    parts.push(part);
  }
  const body: unknown = JSON.parse(Buffer.concat(parts).toString('utf8') || '{}');
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new Error('The body must be a JSON object.');
  return { ...body };
}
