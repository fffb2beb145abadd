import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { HARDENING, createHardenedServer } from './hardened-server.ts';

let server: Server | undefined;
const sockets = new Set<Socket>();

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  server = undefined;
});

async function start(
  handler: Parameters<typeof createHardenedServer>[0],
  more: Partial<typeof HARDENING> = {},
): Promise<number> {
  server = createHardenedServer(handler, { ...HARDENING, ...more });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** Sends bytes and collects the response until the server closes the connection. */
function raw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
    sockets.add(socket);
    let answer = '';
    socket
      .setEncoding('latin1')
      .on('data', (part) => (answer += part))
      .on('close', () => resolve(answer))
      .on('error', () => resolve(answer));
  });
}

const echo = (_request: unknown, response: { end(text: string): void }) => response.end('hello');

describe('requests that two parsers may read differently', () => {
  it.each([
    ['two Hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
    [
      'an odd Transfer-Encoding',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'both lengths',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc'],
    ['a space before the colon', 'GET / HTTP/1.1\r\nHost : a\r\n\r\n'],
    ['a folded header', 'GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n'],
    ['bare line feeds', 'GET / HTTP/1.1\nHost: a\n\n'],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n'],
    ['a NUL in a header', 'GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n'],
    ['no HTTP at all', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ])('%s: 400', async (_what, bytes) => {
    let handled = 0;
    const port = await start((_request, response) => {
      handled++;
      response.end();
    });
    expect(await raw(port, bytes)).toMatch(/^HTTP\/1\.1 400 /);
    expect(handled).toBe(0);
  });

  it('headers over 16 KiB: 431', async () => {
    const port = await start(echo);
    expect(await raw(port, `GET / HTTP/1.1\r\nHost: a\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 /,
    );
  });
});

describe('floods', () => {
  it('a socket that pipelines too many requests is disconnected, and others are served', async () => {
    const open: (() => void)[] = [];
    const port = await start((request, response) => {
      if (request.url === '/slow') open.push(() => response.end());
      else response.end('healthy');
    });
    await raw(port, 'GET /slow HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(500));
    expect(open.length).toBeLessThanOrEqual(HARDENING.perSocket);
    const healthy = await fetch(`http://127.0.0.1:${port}/`);
    expect(await healthy.text()).toBe('healthy');
    for (const release of open) release();
  });

  it('requests above the total limit get 503 with Retry-After', async () => {
    let arrived = 0;
    const port = await start(() => void arrived++, { total: 1 });
    void raw(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await until(() => arrived === 1);
    expect(await raw(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 503 [\s\S]*Retry-After: 5/,
    );
  });

  it('W19 slow bodies never cause a 503 for other clients: the slowest one is dropped', async () => {
    let arrived = 0;
    const readAll = (request: IncomingMessage, response: ServerResponse) => {
      arrived++;
      request.resume().once('end', () => response.end('ok'));
    };
    const port = await start(readAll, { total: 3 });
    const slow = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc';
    const ended: number[] = [];
    for (const number of [0, 1, 2, 3, 4]) {
      void raw(port, slow).then(() => ended.push(number));
      await until(() => arrived === number + 1);
    }
    const healthy = 'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc';
    for (let sent = 0; sent < 2; sent++) expect(await raw(port, healthy)).toMatch(/^HTTP\/1\.1 200 /);
    await until(() => ended.length >= 3);
    expect(ended).toEqual([0, 1, 2]);
  });

  it('uploads in flight are never dropped for other requests', async () => {
    let arrived = 0;
    const port = await start(() => void arrived++, { total: 1, slowBody: (url) => url === '/upload' });
    void raw(port, 'POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc');
    await until(() => arrived === 1);
    expect(await raw(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')).toMatch(/^HTTP\/1\.1 503 /);
  });

  it('a finished request frees its slot for the next one on the same socket', async () => {
    const port = await start(echo, { perSocket: 2 });
    const one = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
    const socket = connect(port, '127.0.0.1');
    sockets.add(socket);
    let answers = 0;
    socket.on('data', (part) => (answers += part.toString('latin1').split('HTTP/1.1 200').length - 1));
    for (let sent = 1; sent <= 10; sent++) {
      socket.write(one);
      await until(() => answers >= sent, { every: 2 });
    }
    expect(answers).toBe(10);
  });
});

// A connection that is never closed fails the test by its timeout.
describe('slow senders', () => {
  const QUICK = { headersMs: 100, bodyMs: 100, sweepMs: 20, slowBody: (url: string) => url === '/upload' };
  const slow = (path: string) => `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc`;

  it('a client that does not send its body is disconnected', async () => {
    const port = await start((request) => request.resume(), QUICK);
    expect(await raw(port, slow('/'))).toBe('');
  });

  it('a client that does not send its body after the response is disconnected too', async () => {
    const port = await start(echo, QUICK);
    expect(await raw(port, slow('/'))).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('the sweep handles a body that the handler stopped reading', async () => {
    const giveUp = async (request: IncomingMessage, response: ServerResponse) => {
      if (request.url === '/') return;
      for await (const _ of request) break;
      response.writeHead(413, { Connection: 'close' }).end();
    };
    const port = await start((request, response) => void giveUp(request, response), QUICK);
    const surprises: unknown[] = [];
    const note = (error: unknown) => void surprises.push(error);
    process.on('uncaughtException', note);
    await raw(port, slow('/upload'));
    // Disconnected by a sweep, which has also seen the earlier request.
    await raw(port, slow('/'));
    process.off('uncaughtException', note);
    expect(surprises).toEqual([]);
  });

  it('a slow client on an upload path is not disconnected', async () => {
    const arrived: Socket[] = [];
    const port = await start(({ socket }) => void arrived.push(socket), QUICK);
    void raw(port, slow('/upload'));
    await until(() => arrived.length === 1);
    // Arrived later and is disconnected by a sweep, which has also seen the upload.
    await raw(port, slow('/'));
    expect(arrived.map(({ destroyed }) => destroyed)).toEqual([false, true]);
  });

  it('a client that does not send its headers is disconnected, after 10 to 20 s by default', async () => {
    const port = await start(echo, QUICK);
    expect(await raw(port, 'GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ')).toMatch(/^HTTP\/1\.1 408 /);
    expect(HARDENING.headersMs).toBeGreaterThanOrEqual(10_000);
    expect(HARDENING.headersMs + HARDENING.sweepMs).toBeLessThan(20_000);
  });
});
