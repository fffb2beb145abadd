import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';

import type { Undo } from '@footbridge/testkit/undo';

import { actions } from './actions.ts';
import { BREAKS } from './breaks.ts';
import type { BuiltPage } from './build-page.ts';
import { MediaShelf } from './media-shelf.ts';
import { Snapshots } from './snapshots.ts';
import { CONTACT, CUSTOMER, FRIEND, LOCATION, listen } from './world.ts';
import type { World } from './world.ts';

/** No remote asset, no inline script or style; pictures and sounds of a conversation come from the service. */
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

/** The page and its few calls: `GET /events` tells everything that changes, `POST /do/<action>` plays a person. */
export async function startPage(
  world: World,
  port: number,
  page: BuiltPage | Promise<BuiltPage>,
  undo: Undo,
): Promise<string> {
  const snapshots = new Snapshots(world);
  const shelf = new MediaShelf(join(world.mac.dataDir, 'simulated-messages'));
  const doing = actions(world, shelf, () => url);
  undo.add(() => snapshots.stop());

  const server = createServer((request, response) => {
    response.setHeader('Content-Security-Policy', policy(world.publicUrl));
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('Referrer-Policy', 'no-referrer');
    route(request, response).catch((error: unknown) => {
      answer(response, 400, { error: error instanceof Error ? error.message : String(error) });
    });
  });

  async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isHere(request)) return answer(response, 403, { error: 'Only this machine may look.' });
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    const file = (await page).files.get(path);
    const isGet = request.method === 'GET' || request.method === 'HEAD';
    if (isGet && file !== undefined) {
      response.writeHead(200, { 'Content-Type': file.type, 'Cache-Control': 'no-store' }).end(file.body);
    } else if (request.method === 'GET' && path === '/events') {
      snapshots.stream(response);
    } else if (isGet && path.startsWith('/media/')) {
      const found = await shelf.find(path);
      if (found === undefined) return answer(response, 404, { error: 'There is no such file.' });
      response.writeHead(200, { 'Content-Type': found.type, 'Cache-Control': 'no-store' }).end(found.body);
    } else if (request.method === 'GET' && path === '/about') {
      answer(response, 200, {
        locationId: LOCATION,
        contactId: CONTACT,
        customer: CUSTOMER,
        friend: FRIEND,
        publicKey: world.crmPublicKey,
        serviceUrl: world.publicUrl,
        crmUrl: world.crmUrl,
        breaks: BREAKS.map(({ id, title, promise }) => ({ id, title, promise })),
      });
    } else if (request.method === 'POST' && path.startsWith('/do/') && isOurs(request)) {
      answer(response, 200, await doing(path.slice('/do/'.length), await readJson(request)));
      snapshots.lookSoon();
    } else {
      answer(response, 404, { error: 'There is no such page.' });
    }
  }

  const url = await listen(server, port, undo);
  return url;
}

/** A page elsewhere whose name was made to point here must not look in. */
const isHere = ({ headers }: IncomingMessage): boolean =>
  /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(headers.host ?? '');

/** Another site open in the same browser must not be able to play along. */
function isOurs({ headers }: IncomingMessage): boolean {
  return (
    headers['content-type'] === 'application/json' &&
    (headers.origin === undefined || headers.origin === `http://${headers.host}`)
  );
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent) return void response.end();
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body ?? null));
}

const MAX_BODY = 20_000_000;

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_BODY) throw new Error('That is too large for the demo.');
    parts.push(part);
  }
  const body: unknown = JSON.parse(Buffer.concat(parts).toString('utf8') || '{}');
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new Error('A JSON object is expected.');
  return { ...body };
}
