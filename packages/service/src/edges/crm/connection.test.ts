import { createServer } from 'node:net';
import type { Socket } from 'node:net';

import { listen } from '@footbridge/testkit/loopback';
import { undoList } from '@footbridge/testkit/undo';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { systemClock } from '../../clock.ts';
import { createTransport } from './transport.ts';
import type { Outgoing } from './transport.ts';

const undo = undoList();
afterEach(() => undo.run());

interface Heard {
  readonly head: string;
  readonly body: Buffer;
  /** Which connection of the server it came on. */
  readonly line: number;
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const NEVER_LEFT = { status: 0, reason: 'network', sent: false };
const LOST = { status: 0, reason: 'network', sent: true };

/** A server that answers in bytes, and the transport that calls it. */
async function serve(answer: (socket: Socket, heard: Heard) => unknown, connections = 8, host = '127.0.0.1') {
  const heard: Heard[] = [];
  const sockets = new Set<Socket>();
  let accepted = 0;
  let skewMs = 0;
  const server = createServer({ noDelay: true }, (socket) => {
    const line = ++accepted;
    let bytes = Buffer.alloc(0);
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    socket.on('data', (more: Buffer) => {
      bytes = Buffer.concat([bytes, more]);
      const end = bytes.indexOf('\r\n\r\n') + 4;
      const head = bytes.toString('latin1', 0, end);
      const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0);
      if (end < 4 || bytes.length < end + length) return;
      const one = { head, body: bytes.subarray(end, end + length), line };
      bytes = bytes.subarray(end + length);
      heard.push(one);
      answer(socket, one);
    });
  });
  const port = await listen(server, 0, host);
  undo.add(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  const clock = { ...systemClock, monotonic: () => performance.now() + skewMs };
  const transport = createTransport({ clock, timeoutMs: 2000, connections });
  undo.add(() => transport.close());
  const origin = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const send = (more: Partial<Outgoing> = {}) =>
    transport.send({ origin, method: 'POST', path: '/', headers: [], body: 'x', wantsBody: true, ...more });
  const later = (ms: number) => {
    skewMs += ms;
  };
  return { send, later, transport, heard, sockets, origin, accepted: () => accepted };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('what is sent', () => {
  it('arrives byte for byte', async () => {
    const { send, heard, transport, origin } = await serve((socket) => socket.write(OK));
    const binary = Buffer.from(Array.from({ length: 3_000_000 }, (_byte, at) => (at * 31 + (at >> 8)) & 255));
    for (const body of ['{"text":"Grüße 👋🏽 \ud800 \r\n\r\n"}', '', binary]) {
      expect(await send({ body, headers: ['x-a', 'b c'] })).toMatchObject({ status: 200, text: 'ok' });
      expect(heard.pop()?.body.equals(Buffer.from(body))).toBe(true);
    }
    await transport.send({ origin, method: 'GET', path: '/a?b=%20', headers: ['x-a', 'b c', 'x-d', 'e'] });
    expect(heard.pop()?.head).toMatch(
      /^GET \/a\?b=%20 HTTP\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\nuser-agent: footbridge\r\nx-a: b c\r\nx-d: e\r\n\r\n$/,
    );
  });

  it('is nothing when it could become another request', async () => {
    const { send, accepted } = await serve((socket) => socket.write(OK));
    const injected = 'a\r\nx: y\r\n\r\nGET /evil HTTP/1.1';
    for (const path of [`/${injected}`, '/a b', '/\n', '/é', '/\0', 'no-slash', '', '*'])
      expect(await send({ path })).toEqual(NEVER_LEFT);
    for (const bad of [injected, 'a\nb', 'a\rb', 'a\0b', 'é']) {
      expect(await send({ headers: ['x-a', bad] })).toEqual(NEVER_LEFT);
      expect(await send({ headers: [bad, 'x'] })).toEqual(NEVER_LEFT);
    }
    for (const origin of ['', 'nonsense', 'http://', 'ftp://127.0.0.1', 'http://a:99999'])
      expect(await send({ origin })).toEqual(NEVER_LEFT);
    expect(accepted()).toBe(0);
  });

  it('goes to an IPv6 address, too', async () => {
    const { send, heard, origin } = await serve((socket) => socket.write(OK), 8, '::1');
    expect(await send()).toMatchObject({ status: 200 });
    expect(heard[0]?.head).toContain(`host: ${origin.slice('http://'.length)}\r\n`);
  });
});

describe('what is answered', () => {
  it('may come in single bytes, behind interim answers', async () => {
    const bytes = `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${OK}`;
    const { send } = await serve(async (socket) => {
      for (const byte of bytes) {
        socket.write(byte);
        await new Promise(setImmediate);
      }
    });
    expect(await send()).toMatchObject({ status: 200, text: 'ok' });
  });

  it('may come before all was sent; the connection is not used again', async () => {
    const { send, heard, accepted, sockets } = await serve((socket) => socket.write(OK));
    const early = 'HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n';
    const sending = send({ body: Buffer.alloc(30_000_000) });
    const [socket] = await until(() => sockets.size > 0 && [...sockets]);
    socket?.removeAllListeners('data').pause().write(early);
    expect(await sending).toMatchObject({ status: 413 });
    expect(await send()).toMatchObject({ status: 200 });
    expect([heard.length, accepted()]).toEqual([1, 2]);
  });

  it('may end with the connection', async () => {
    const { send } = await serve((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nuntil the end'));
    expect(await send()).toMatchObject({ status: 200, text: 'until the end' });
  });

  it.each([
    '',
    'HTTP/1.1 20',
    'HTTP/1.1 200 OK\r\nContent-',
    OK.slice(0, -1),
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n',
  ])('is none when only %j of it came', async (part) => {
    const { send, sockets } = await serve((socket, { line }) => {
      if (part !== '') socket.write(part);
      setTimeout(() => (line % 2 === 0 ? socket.end() : socket.resetAndDestroy()), 5);
    });
    expect(await Promise.all([send(), send()])).toEqual([LOST, LOST]);
    await until(() => sockets.size === 0);
  });

  it('counts when the connection is reset behind it', async () => {
    const { send } = await serve((socket) =>
      socket.write(OK, () => setTimeout(() => socket.resetAndDestroy(), 5)),
    );
    for (let index = 0; index < 5; index++) {
      expect(await send()).toMatchObject({ status: 200 });
      await pause(index * 4);
    }
  });
});

describe('a connection', () => {
  it('is used again until the other side would close it', async () => {
    let more = '';
    const { send, later, heard } = await serve((socket) => socket.write(OK.replace('\r\n', `\r\n${more}`)));
    const lineOfNext = async () => {
      await pause(5);
      await send();
      return heard.at(-1)?.line;
    };
    expect([await lineOfNext(), await lineOfNext()]).toEqual([1, 1]);
    later(29_000);
    more = 'Keep-Alive: timeout=5\r\n';
    expect(await lineOfNext()).toBe(1);
    later(3500);
    expect(await lineOfNext()).toBe(2);
    later(2000);
    more = 'Connection: close\r\n';
    expect([await lineOfNext(), await lineOfNext(), await lineOfNext()]).toEqual([2, 3, 4]);
    more = '';
    await lineOfNext();
    later(30_500);
    expect(await lineOfNext()).toBe(6);
  });

  it('that was closed at rest is not written to', async () => {
    for (const close of [(socket: Socket) => socket.end(), (socket: Socket) => socket.resetAndDestroy()]) {
      const { send, sockets } = await serve((socket) => socket.write(OK));
      for (let index = 0; index < 10; index++) {
        expect(await send()).toMatchObject({ status: 200 });
        for (const socket of sockets) close(socket);
        await until(() => sockets.size === 0, { every: 1 });
      }
    }
  });

  it('that is closed behind every answer without a word costs nobody his answer', async () => {
    const { send } = await serve((socket) => socket.end(OK), 2);
    for (const answer of await Promise.all(Array.from({ length: 40 }, () => send())))
      expect(answer).toMatchObject({ status: 200 });
    for (let index = 0; index < 40; index++) expect(await send()).toMatchObject({ status: 200 });
  });

  it('on which more came than was asked for is not used again', async () => {
    const forged = OK.replace(/ok$/, 'no');
    for (const write of [
      (socket: Socket) => socket.write(OK + forged),
      (socket: Socket) => socket.write(OK, () => socket.write(forged)),
    ]) {
      const { send, heard } = await serve((socket) => write(socket), 1);
      const answers = await Promise.all(Array.from({ length: 10 }, () => send()));
      expect(answers.map((answer) => 'text' in answer && answer.text)).toEqual(answers.map(() => 'ok'));
      expect(new Set(heard.map(({ line }) => line)).size).toBe(10);
    }
  });
});
