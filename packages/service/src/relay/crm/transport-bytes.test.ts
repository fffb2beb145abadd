import { createServer } from 'node:net';
import type { Socket } from 'node:net';

import { systemClock } from '@footbridge/runtime/clock';
import { listen } from '@footbridge/testkit/loopback';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { createTransport } from './transport-http.ts';
import type { HttpRequest } from './transport-http.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

interface Received {
  readonly head: string;
  readonly body: Buffer;
  /** Number of the connection it arrived on. */
  readonly connection: number;
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const NOT_SENT = { status: 0, reason: 'network', sent: false };
const LOST = { status: 0, reason: 'network', sent: true };

/** A server that responds with raw bytes, and the transport that calls it. */
async function serve(
  respond: (socket: Socket, request: Received) => unknown,
  maxConnections = 8,
  host = '127.0.0.1',
) {
  const received: Received[] = [];
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer({ noDelay: true }, (socket) => {
    const connection = ++accepted;
    let bytes = Buffer.alloc(0);
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    socket.on('data', (more: Buffer) => {
      bytes = Buffer.concat([bytes, more]);
      const end = bytes.indexOf('\r\n\r\n') + 4;
      const head = bytes.toString('latin1', 0, end);
      const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0);
      if (end < 4 || bytes.length < end + length) return;
      const request = { head, body: bytes.subarray(end, end + length), connection };
      bytes = bytes.subarray(end + length);
      received.push(request);
      respond(socket, request);
    });
  });
  const port = await listen(server, 0, host);
  cleanup.add(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  const transport = createTransport({ clock: systemClock, timeoutMs: 20_000, maxConnections });
  cleanup.add(() => transport.close());
  const origin = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const send = (more: Partial<HttpRequest> = {}) =>
    transport.send({ origin, method: 'POST', path: '/', headers: [], body: 'x', wantsBody: true, ...more });
  return { send, transport, received, sockets, origin, accepted: () => accepted };
}

describe('a request', () => {
  it('a request arrives byte for byte', async () => {
    const { send, received, transport, origin } = await serve((socket) => socket.write(OK));
    const binary = Buffer.from(Array.from({ length: 3_000_000 }, (_byte, at) => (at * 31 + (at >> 8)) & 255));
    for (const body of ['{"text":"Grüße 👋🏽 \ud800 \r\n\r\n"}', '', binary]) {
      expect(await send({ body, headers: ['x-a', 'b c'] })).toMatchObject({ status: 200, text: 'ok' });
      expect(received.pop()?.body.equals(Buffer.from(body))).toBe(true);
    }
    await transport.send({ origin, method: 'GET', path: '/a?b=%20', headers: ['x-a', 'b c', 'x-d', 'e'] });
    expect(received.pop()?.head).toMatch(
      /^GET \/a\?b=%20 HTTP\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\nconnection: keep-alive\r\nuser-agent: footbridge\r\naccept-encoding: identity\r\nx-a: b c\r\nx-d: e\r\n\r\n$/,
    );
  });

  it('a request is not sent when its path, headers or origin are invalid', async () => {
    const { send, accepted } = await serve((socket) => socket.write(OK));
    const injected = 'a\r\nx: y\r\n\r\nGET /evil HTTP/1.1';
    for (const path of [`/${injected}`, '/a b', '/\n', '/é', '/\0', 'no-slash', '', '*'])
      expect(await send({ path })).toMatchObject(NOT_SENT);
    for (const bad of [injected, 'a\nb', 'a\rb', 'a\0b', 'é']) {
      expect(await send({ headers: ['x-a', bad] })).toMatchObject(NOT_SENT);
      expect(await send({ headers: [bad, 'x'] })).toMatchObject(NOT_SENT);
    }
    for (const origin of ['', 'nonsense', 'http://', 'ftp://127.0.0.1', 'http://a:99999'])
      expect(await send({ origin })).toMatchObject(NOT_SENT);
    expect(accepted()).toBe(0);
  });

  it('a request reaches an IPv6 address', async () => {
    const { send, received, origin } = await serve((socket) => socket.write(OK), 8, '::1');
    expect(await send()).toMatchObject({ status: 200 });
    expect(received[0]?.head).toContain(`host: ${origin.slice('http://'.length)}\r\n`);
  });
});

describe('a response', () => {
  it('a response may arrive one byte at a time, after interim responses', async () => {
    const bytes = `HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${OK}`;
    const { send } = await serve(async (socket) => {
      for (const byte of bytes) {
        socket.write(byte);
        await new Promise(setImmediate);
      }
    });
    expect(await send()).toMatchObject({ status: 200, text: 'ok' });
  });

  it('a response counts as lost when it starts with a 100 that no Expect header requested', async () => {
    const { send } = await serve((socket) => socket.write(`HTTP/1.1 100 Continue\r\n\r\n${OK}`));
    expect(await send()).toMatchObject(LOST);
  });

  it('a response may arrive before the whole request is sent; the connection is not reused', async () => {
    const { send, received, accepted, sockets } = await serve((socket) => socket.write(OK));
    const early = 'HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n';
    const sending = send({ body: Buffer.alloc(30_000_000) });
    const [socket] = await until(() => sockets.size > 0 && [...sockets]);
    socket?.removeAllListeners('data').pause().write(early);
    expect(await sending).toMatchObject({ status: 413 });
    expect(await send()).toMatchObject({ status: 200 });
    expect([received.length, accepted()]).toEqual([1, 2]);
  });

  it('a response may end with the connection', async () => {
    const { send } = await serve((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nuntil the end'));
    expect(await send()).toMatchObject({ status: 200, text: 'until the end' });
  });

  it.each([
    '',
    'HTTP/1.1 20',
    'HTTP/1.1 200 OK\r\nContent-',
    OK.slice(0, -1),
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n',
  ])('counts as lost when only %j of it arrives', async (part) => {
    const { send, sockets } = await serve((socket, { connection }) => {
      if (part !== '') socket.write(part);
      setTimeout(() => (connection % 2 === 0 ? socket.end() : socket.resetAndDestroy()), 5);
    });
    expect(await Promise.all([send(), send()])).toMatchObject([LOST, LOST]);
    await until(() => sockets.size === 0);
  });

  it('a complete response counts, even if the connection is reset after it', async () => {
    const { send, sockets } = await serve((socket) =>
      socket.write(OK, () => setTimeout(() => socket.resetAndDestroy(), 5)),
    );
    for (let calls = 0; calls < 5; calls++) {
      expect(await send()).toMatchObject({ status: 200 });
      await until(() => sockets.size === 0, { every: 1 });
    }
  });
});

describe('a connection', () => {
  it('a connection is reused until the server would close it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    cleanup.add(() => vi.useRealTimers());
    let extra = '';
    const { send, received } = await serve((socket) => socket.write(OK.replace('\r\n', `\r\n${extra}`)));
    const sendAfter = async (ms: number) => {
      // The idle timer starts once the event loop has put the connection back.
      await new Promise(setImmediate);
      vi.advanceTimersByTime(ms);
      await send();
      return received.at(-1)?.connection;
    };
    expect([await sendAfter(0), await sendAfter(0), await sendAfter(29_000)]).toEqual([1, 1, 1]);
    expect(await sendAfter(30_500)).toBe(2);
    extra = 'Keep-Alive: timeout=5\r\n';
    expect([await sendAfter(0), await sendAfter(2500), await sendAfter(3500)]).toEqual([2, 2, 3]);
    extra = 'Connection: close\r\n';
    expect([await sendAfter(0), await sendAfter(0), await sendAfter(0)]).toEqual([3, 4, 5]);
  });

  it('a connection is not written to after it was closed while idle', async () => {
    for (const close of [(socket: Socket) => socket.end(), (socket: Socket) => socket.resetAndDestroy()]) {
      const { send, sockets } = await serve((socket) => socket.write(OK));
      for (let calls = 0; calls < 100; calls++) {
        expect(await send()).toMatchObject({ status: 200 });
        for (const socket of sockets) close(socket);
        await until(() => sockets.size === 0, { every: 1 });
      }
    }
  });

  it('a connection that is reset before a waiting call is sent passes it to another one', async () => {
    const { send, received } = await serve((socket, { connection }) => {
      socket.write(OK);
      if (connection % 2 === 1) socket.resetAndDestroy();
    }, 1);
    for (let calls = 0; calls < 20; calls++) {
      const responses = await Promise.all([send(), send(), send()]);
      expect(responses).toMatchObject([{ status: 200 }, { status: 200 }, { status: 200 }]);
    }
    expect(received).toHaveLength(60);
  });

  it('a connection may be closed after every response without notice, and no call fails', async () => {
    const { send } = await serve((socket) => socket.end(OK), 2);
    for (const response of await Promise.all(Array.from({ length: 40 }, () => send())))
      expect(response).toMatchObject({ status: 200 });
    for (let calls = 0; calls < 40; calls++) expect(await send()).toMatchObject({ status: 200 });
  });

  it('a connection is not reused after unsolicited bytes', async () => {
    const forged = OK.replace(/ok$/, 'no');
    for (const write of [
      (socket: Socket) => socket.write(OK + forged),
      (socket: Socket) => socket.write(OK, () => socket.write(forged)),
    ]) {
      const { send, received } = await serve((socket) => write(socket), 1);
      const responses = await Promise.all(Array.from({ length: 10 }, () => send()));
      expect(responses.map((one) => 'text' in one && one.text)).toEqual(responses.map(() => 'ok'));
      expect(new Set(received.map(({ connection }) => connection)).size).toBe(10);
    }
  });
});
