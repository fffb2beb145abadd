import { createServer } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';

import { systemClock } from '@footbridge/runtime/clock';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { closeHttp, listen } from '@footbridge/testkit/loopback';
import { afterEach, expect, it } from 'vitest';

import { createTransport } from './transport-http.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const ANSWER = '{"messageId":"m1"}';

async function answered(encoding: string, body: Buffer) {
  const requested: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    requested.push(request.headers['accept-encoding']);
    response.writeHead(201, { 'Content-Encoding': encoding }).end(body);
  });
  const port = await listen(server);
  cleanup.add(() => closeHttp(server));
  const transport = createTransport({ clock: systemClock });
  cleanup.add(() => transport.close());
  const origin = `http://127.0.0.1:${port}`;
  const response = await transport.send({
    origin,
    method: 'POST',
    path: '/',
    headers: [],
    body: '{}',
    wantsBody: true,
  });
  expect(requested).toEqual(['identity']);
  return response;
}

it.each([
  ['gzip', gzipSync(ANSWER)],
  ['deflate', deflateSync(ANSWER)],
  ['br', brotliCompressSync(ANSWER)],
  ['identity', Buffer.from(ANSWER)],
])('I6 reads a response that the CRM compresses anyway: %s', async (encoding, body) => {
  expect(await answered(encoding, body)).toMatchObject({ status: 201, text: ANSWER });
});

it.each([
  ['an unknown encoding', 'zstd-of-its-own', Buffer.from(ANSWER)],
  ['bytes that are not compressed', 'gzip', Buffer.from(ANSWER)],
  ['a decompression bomb', 'gzip', gzipSync(Buffer.alloc(50_000_000))],
])('T23 I9 counts %s as a lost response to a request that was sent', async (_what, encoding, body) => {
  expect(await answered(encoding, body)).toMatchObject({ status: 0, reason: 'network', sent: true });
});
