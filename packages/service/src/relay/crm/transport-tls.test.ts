import { createServer as createTcpServer } from 'node:net';
import type { Server } from 'node:net';
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { TLSSocket } from 'node:tls';

import { systemClock } from '@footbridge/runtime/clock';
import { certificateFor } from '@footbridge/testkit/certificate';
import { listen } from '@footbridge/testkit/loopback';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';

import { createTransport } from './transport-http.ts';
import type { HttpRequest } from './transport-http.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const NOT_SENT = { status: 0, reason: 'network', sent: false };

const trusted = certificateFor('localhost');
const untrusted = certificateFor('localhost');

beforeAll(() => {
  const usual = getCACertificates('default');
  setDefaultCACertificates([...usual, trusted.cert]);
  return () => setDefaultCACertificates(usual);
});

type Version = 'TLSv1.2' | 'TLSv1.3';

async function serve(
  respond: (socket: TLSSocket) => void,
  more: { version?: Version; maxConnections?: number; certificate?: typeof trusted } = {},
) {
  const { version = 'TLSv1.3', maxConnections = 8, certificate = trusted } = more;
  const sockets: TLSSocket[] = [];
  const requests: string[] = [];
  const resumed: boolean[] = [];
  const server = createServer(
    { ...certificate, ALPNProtocols: ['h2', 'http/1.1'], minVersion: version, maxVersion: version },
    (socket) => {
      sockets.push(socket);
      resumed.push(socket.isSessionReused());
      socket
        .on('error', () => {})
        .on('data', (bytes) => {
          requests.push(String(bytes));
          respond(socket);
        });
    },
  ).on('tlsClientError', () => {});
  const port = await listen(server);
  cleanup.add(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  const transport = createTransport({ clock: systemClock, timeoutMs: 20_000, maxConnections });
  cleanup.add(() => transport.close());
  const send = (overrides: Partial<HttpRequest> = {}) =>
    transport.send({
      origin: `https://localhost:${port}`,
      method: 'POST',
      path: '/',
      headers: [],
      body: 'x',
      wantsBody: true,
      ...overrides,
    });
  return { send, sockets, requests, resumed, port };
}

describe.each(['TLSv1.2', 'TLSv1.3'] as const)('over %s', (version) => {
  it('calls a server with a valid certificate and reuses the connection', async () => {
    const { send, sockets } = await serve((socket) => socket.write(OK), { version });
    for (let calls = 0; calls < 5; calls++) expect(await send()).toMatchObject({ status: 200, text: 'ok' });
    expect(sockets).toHaveLength(1);
    expect(sockets[0]).toMatchObject({ alpnProtocol: 'http/1.1', servername: 'localhost' });
  });

  it('resumes the session of an earlier connection', async () => {
    const closing = OK.replace('\r\n', '\r\nConnection: close\r\n');
    const { send, resumed } = await serve((socket) => socket.write(closing), { version });
    for (let calls = 0; calls < 4; calls++) expect(await send()).toMatchObject({ status: 200 });
    expect(resumed[0]).toBe(false);
    expect(resumed.slice(1)).toContain(true);
  });

  it('sends nothing to a server whose certificate names another host', async () => {
    const { send, requests, port } = await serve((socket) => socket.write(OK), { version });
    for (let calls = 0; calls < 3; calls++)
      expect(await send({ origin: `https://127.0.0.1:${port}` })).toEqual({
        ...NOT_SENT,
        code: 'ERR_TLS_CERT_ALTNAME_INVALID',
      });
    expect(requests).toEqual([]);
  });

  it('sends nothing to a server with an untrusted certificate', async () => {
    const { send, requests } = await serve((socket) => socket.write(OK), { version, certificate: untrusted });
    for (let calls = 0; calls < 3; calls++)
      expect(await send()).toEqual({ ...NOT_SENT, code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    expect(requests).toEqual([]);
  });

  it('bytes behind a response are not read as the next response, even in a TLS record of their own', async () => {
    // As many bytes as one record holds.
    const padded = OK.replace('\r\n', `\r\nX: ${'y'.repeat(16_384 - OK.length - 5)}\r\n`);
    const both = padded + OK.replace(/ok$/, 'no');
    const { send, sockets } = await serve((socket) => socket.write(both), { version, maxConnections: 1 });
    const responses = await Promise.all(Array.from({ length: 10 }, () => send()));
    expect(responses.map((one) => 'text' in one && one.text)).toEqual(responses.map(() => 'ok'));
    for (let calls = 0; calls < 10; calls++) expect(await send()).toMatchObject({ text: 'ok' });
    expect(sockets).toHaveLength(20);
  });

  it('carries bytes unchanged in both directions', async () => {
    const big = Buffer.from('ü€😀'.repeat(20_000));
    const { send, requests } = await serve(
      (socket) => {
        if (Buffer.byteLength(requests.join('')) < big.length) return;
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${big.length}\r\n\r\n`);
        socket.write(big);
      },
      { version },
    );
    expect(await send({ body: big })).toMatchObject({ status: 200, text: String(big) });
  });
});

describe('connections over TLS', () => {
  const CALLS = 1000;
  const IN_FLIGHT = 32;

  async function callAll(send: () => Promise<object>): Promise<void> {
    let calls = 0;
    const worker = async () => {
      while (calls++ < CALLS) expect(await send()).toMatchObject({ status: 200 });
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  }

  it('connections are no more than the calls in flight when the CRM is fast', async () => {
    const { send, sockets } = await serve((socket) => socket.write(OK), { maxConnections: 256 });
    await callAll(send);
    expect(sockets.length).toBeLessThanOrEqual(IN_FLIGHT);
  });

  it('connections are no more than the calls in flight when the event loop stalls', async () => {
    let respond = 0;
    const { send, sockets } = await serve(
      (socket) => {
        socket.write(OK);
        // The server shares the event loop, so responses pile up and arrive together after each stall.
        if (++respond % 50 === 0) for (const end = performance.now() + 100; performance.now() < end;);
      },
      { maxConnections: 256 },
    );
    await callAll(send);
    expect(sockets.length).toBeLessThanOrEqual(IN_FLIGHT);
  });
});

describe('a TLS handshake', () => {
  async function listenTcp(server: Server): Promise<HttpRequest> {
    const port = await listen(server);
    cleanup.add(() => new Promise((resolve) => server.close(resolve)));
    return { origin: `https://localhost:${port}`, method: 'GET', path: '/', headers: [] };
  }

  it('a handshake that never completes ends at the deadline, or when the transport closes', async () => {
    const server = createTcpServer((socket) => void socket.on('error', () => {}).resume());
    const request = await listenTcp(server);
    const transport = createTransport({ clock: systemClock, maxConnections: 1 });
    expect(await transport.send({ ...request, timeoutMs: 50 })).toMatchObject({
      status: 0,
      reason: 'timeout',
      sent: false,
    });
    const hanging = [transport.send(request), transport.send(request)];
    await until(
      () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count))),
    );
    await Promise.all([transport.close(), transport.close()]);
    expect(await Promise.all(hanging)).toMatchObject([NOT_SENT, NOT_SENT]);
    await transport.close();
  });

  it('a handshake with a server that does not speak TLS fails', async () => {
    const request = await listenTcp(
      createTcpServer(
        (socket) =>
          void socket
            .on('error', () => {})
            .resume()
            .end(OK),
      ),
    );
    const transport = createTransport({ clock: systemClock });
    cleanup.add(() => transport.close());
    expect(await transport.send(request)).toMatchObject(NOT_SENT);
  });
});
