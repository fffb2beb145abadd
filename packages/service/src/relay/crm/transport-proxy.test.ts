import { createServer as createHttpServer } from 'node:http';
import type { Socket } from 'node:net';
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls';

import { systemClock } from '@footbridge/runtime/clock';
import { certificateFor } from '@footbridge/testkit/certificate';
import { startForwardProxy } from '@footbridge/testkit/forward-proxy';
import { closeHttp, listen } from '@footbridge/testkit/loopback';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';

import { createTransport } from './transport-http.ts';
import type { HttpRequest } from './transport-http.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

/** Only the proxy knows that this name means 127.0.0.1. */
const CRM = 'crm.test';
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const CREDENTIALS = 'operator:canary%40word';
const AUTHORIZATION = `Basic ${Buffer.from('operator:canary@word').toString('base64')}`;
const certificate = certificateFor(CRM);

beforeAll(() => {
  const usual = getCACertificates('default');
  setDefaultCACertificates([...usual, certificate.cert]);
  return () => setDefaultCACertificates(usual);
});

/** A CRM behind TLS. */
async function startCrm() {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer(certificate, (socket) => {
    sockets.add(socket);
    socket
      .on('error', () => {})
      .on('data', (bytes) => {
        requests.push(String(bytes));
        socket.write(OK);
      });
  }).on('tlsClientError', () => {});
  const port = await listen(server);
  cleanup.add(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return { origin: `https://${CRM}:${port}`, requests, sockets };
}

async function startProxy(authorization?: string) {
  const proxy = await startForwardProxy(authorization);
  cleanup.add(() => proxy.stop());
  return proxy;
}

function transportThrough(proxies: { http?: string; https?: string; bypass?: string }, timeoutMs = 20_000) {
  const transport = createTransport({
    clock: systemClock,
    timeoutMs,
    proxies: { http: proxies.http, https: proxies.https, bypass: proxies.bypass ?? '' },
  });
  cleanup.add(() => transport.close());
  return (origin: string, more: Partial<HttpRequest> = {}) =>
    transport.send({
      origin,
      method: 'POST',
      path: '/x',
      headers: ['authorization', 'Bearer token'],
      body: '{}',
      wantsBody: true,
      ...more,
    });
}

describe('a call through a proxy', () => {
  it('reaches an https CRM through CONNECT, with TLS end to end, and reuses the tunnel', async () => {
    const crm = await startCrm();
    const proxy = await startProxy();
    const send = transportThrough({ https: `http://${proxy.address}` });
    for (let calls = 0; calls < 5; calls++)
      expect(await send(crm.origin)).toMatchObject({ status: 200, text: 'ok' });
    expect(proxy.asked).toEqual([{ line: `CONNECT ${new URL(crm.origin).host}`, authorization: undefined }]);
    expect(crm.sockets.size).toBe(1);
    expect(crm.requests[0]).toMatch(/^POST \/x HTTP\/1\.1\r\nhost: crm\.test:\d+\r\n/);
  });

  it('opens no more tunnels than calls in flight', async () => {
    const crm = await startCrm();
    const proxy = await startProxy();
    const send = transportThrough({ https: `http://${proxy.address}` });
    let calls = 0;
    const worker = async () => {
      while (calls++ < 200) expect(await send(crm.origin)).toMatchObject({ status: 200 });
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    expect(crm.sockets.size).toBeLessThanOrEqual(8);
  });

  it('sends the credentials of the proxy URL to the proxy and not to the CRM', async () => {
    const crm = await startCrm();
    const proxy = await startProxy(AUTHORIZATION);
    const send = transportThrough({ https: `http://${CREDENTIALS}@${proxy.address}` });
    expect(await send(crm.origin)).toMatchObject({ status: 200 });
    expect(proxy.asked).toMatchObject([{ authorization: AUTHORIZATION }]);
    expect(crm.requests.join('')).not.toMatch(/proxy-/i);
  });

  it('fails when the proxy rejects the credentials, without quoting them', async () => {
    const crm = await startCrm();
    const proxy = await startProxy('Basic other');
    const through = `http://${CREDENTIALS}@${proxy.address}`;
    const send = transportThrough({ https: through, http: through });
    for (const origin of [crm.origin, `http://${CRM}:1`]) {
      const result = await send(origin);
      expect(result).toMatchObject({ status: 0, reason: 'network' });
      expect(JSON.stringify(result)).not.toMatch(/canary|operator|127\.0\.0\.1/);
    }
    expect(crm.requests).toEqual([]);
  });

  it('reaches an http CRM by its absolute URL', async () => {
    const seen: string[] = [];
    const server = createHttpServer((request, response) => {
      seen.push(`${request.headers.host} ${request.url} ${request.headers['proxy-authorization']}`);
      response.end('ok');
    });
    const port = await listen(server);
    cleanup.add(() => closeHttp(server));
    const proxy = await startProxy(AUTHORIZATION);
    const send = transportThrough({ http: `http://${CREDENTIALS}@${proxy.address}` });
    expect(await send(`http://${CRM}:${port}`)).toMatchObject({ status: 200, text: 'ok' });
    expect(proxy.asked).toMatchObject([{ line: `POST http://${CRM}:${port}/x` }]);
    expect(seen).toEqual([`${CRM}:${port} /x undefined`]);
  });

  it('ends at its deadline when the proxy does not respond to CONNECT', async () => {
    const silent = createHttpServer().on('connect', (_request: unknown, socket: Socket) => {
      socket.on('error', () => {});
      cleanup.add(() => socket.destroy());
    });
    const port = await listen(silent);
    cleanup.add(() => closeHttp(silent));
    const send = transportThrough({ https: `http://127.0.0.1:${port}` }, 300);
    expect(await send('https://crm.test')).toMatchObject({ status: 0, reason: 'timeout', sent: false });
  });

  it('fails when the proxy is unreachable, and does not bypass it', async () => {
    const crm = await startCrm();
    const send = transportThrough({ https: 'http://127.0.0.1:1' });
    expect(await send(crm.origin)).toMatchObject({ status: 0, reason: 'network', sent: false });
    expect(crm.requests).toEqual([]);
  });

  it('keeps the limit of the response size', async () => {
    const server = createHttpServer((_request, response) => response.end('x'.repeat(300_000)));
    const port = await listen(server);
    cleanup.add(() => closeHttp(server));
    const proxy = await startProxy();
    const send = transportThrough({ http: `http://${proxy.address}` });
    expect(await send(`http://${CRM}:${port}`)).toMatchObject({ status: 0, reason: 'answer_too_large' });
  });
});

describe('a call that uses no proxy', () => {
  it.each([
    ['the host is listed', CRM],
    ['its domain is listed', 'example.com, .test'],
    ['all hosts are listed', '*'],
  ])('a call goes directly when %s in NO_PROXY', async (_why, bypass) => {
    const proxy = await startProxy();
    const send = transportThrough({ https: `http://${proxy.address}`, bypass }, 300);
    // Only the proxy can resolve the name.
    expect(await send(`https://${CRM}:1`)).toMatchObject({ status: 0, sent: false });
    expect(proxy.asked).toEqual([]);
  });

  it('a call goes directly when only the other protocol has a proxy', async () => {
    const proxy = await startProxy();
    await transportThrough({ http: `http://${proxy.address}` }, 300)(`https://${CRM}:1`);
    await transportThrough({ https: `http://${proxy.address}` }, 300)(`http://${CRM}:1`);
    expect(proxy.asked).toEqual([]);
  });

  it.each(['127.0.0.1', '127.1.2.3', 'localhost', '[::1]'])(
    'a call goes directly to %s, which is this machine',
    async (host) => {
      const proxy = await startProxy();
      const send = transportThrough({ http: `http://${proxy.address}` });
      expect(await send(`http://${host}:1`)).toMatchObject({ status: 0, reason: 'network', sent: false });
      expect(proxy.asked).toEqual([]);
    },
  );
});
