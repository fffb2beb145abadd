import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { Socket } from 'node:net';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

import { systemClock } from '@footbridge/runtime/clock';
import { closeHttp, listen } from '@footbridge/testkit/loopback';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { createTransport } from './transport-http.ts';
import type { HttpRequest } from './transport-http.ts';

const TIMEOUT_MS = 20_000;

/** A server in a worker thread. Posts its port, then `requested`, and sets a flag when the response has been sent. */
const RESPOND_FROM_THREAD = `
  const { createServer } = require('node:http');
  const { parentPort, workerData } = require('node:worker_threads');
  const server = createServer((request, response) => {
    parentPort.postMessage('requested');
    response.on('finish', () => {
      Atomics.store(workerData, 0, 1);
      Atomics.notify(workerData, 0);
    });
    setTimeout(() => response.end(), 300);
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function serve(handler: (request: IncomingMessage, response: ServerResponse) => void, connections = 8) {
  // With Node's default of 5 s, a stall of this process would close connections between two calls.
  const server = createServer({ keepAliveTimeout: 60_000 }, handler);
  const port = await listen(server);
  cleanup.add(() => closeHttp(server));
  let skewMs = 0;
  const clock = { ...systemClock, monotonic: () => performance.now() + skewMs };
  const transport = createTransport({ clock, timeoutMs: TIMEOUT_MS, maxConnections: connections });
  cleanup.add(() => transport.close());
  const origin = `http://127.0.0.1:${port}`;
  const send = (path: string, more: object = {}) =>
    transport.send({ origin, method: 'PUT', path, headers: ['x-a', '1'], body: 'body', ...more });
  const pass = (ms: number) => {
    skewMs += ms;
  };
  return { send, transport, origin, pass };
}

describe('the transport', () => {
  it('returns the status, the headers and a body that is wanted', async () => {
    const { send } = await serve((request, response) => {
      response.writeHead(request.url === '/no' ? 404 : 200, { 'x-b': '2' }).end('answer');
    });
    expect(await send('/yes', { wantsBody: true })).toMatchObject({ status: 200, text: 'answer' });
    const unread = await send('/yes');
    expect(unread).toMatchObject({ status: 200, text: '' });
    expect('headers' in unread && unread.headers.get('x-b')).toBe('2');
    expect(await send('/no')).toMatchObject({ status: 404, text: 'answer' });
  });

  it('the transport does not follow redirects', async () => {
    const paths: string[] = [];
    const { send } = await serve((request, response) => {
      paths.push(request.url ?? '');
      response.writeHead(302, { location: '/elsewhere' }).end();
    });
    expect(await send('/here')).toMatchObject({ status: 302 });
    expect(paths).toEqual(['/here']);
  });

  it('returns a response that arrived while the process was stalled past the deadline', async () => {
    const flag = new Int32Array(new SharedArrayBuffer(8));
    const server = new Worker(RESPOND_FROM_THREAD, { eval: true, workerData: flag });
    cleanup.add(() => server.terminate());
    const [port] = await once(server, 'message');
    const { send, pass } = await serve(() => {});
    const sending = send('/', { origin: `http://127.0.0.1:${port}` });
    await once(server, 'message');
    // Blocks until the response is in the socket and the next deadline check is due.
    Atomics.wait(flag, 0, 0);
    Atomics.wait(flag, 1, 0, 500);
    pass(2 * TIMEOUT_MS);
    expect(await sending).toMatchObject({ status: 200 });
  });

  it('reuses one connection for calls made in turn', async () => {
    const sockets = new Set<unknown>();
    const { send } = await serve((request, response) => {
      sockets.add(request.socket);
      response.end();
    });
    for (let index = 0; index < 10; index++) await send('/');
    expect(sockets.size).toBe(1);
  });

  it('ends an exchange at its deadline, whether headers or body are missing', async () => {
    const seen: string[] = [];
    const { send, pass } = await serve((request, response) => {
      seen.push(request.url ?? '');
      if (request.url === '/body') response.writeHead(200).write('half');
    });
    for (const path of ['/headers', '/body']) {
      const result = send(path, { wantsBody: true });
      await until(() => seen.includes(path));
      pass(TIMEOUT_MS);
      expect(await result).toMatchObject({ status: 0, reason: 'timeout', sent: true });
    }
    expect(await send('/headers', { timeoutMs: 50 })).toMatchObject({ reason: 'timeout' });
  });

  it('the transport does not send a request that expired while it waited for a connection', async () => {
    const seen: string[] = [];
    const { send, pass } = await serve((request) => void seen.push(request.url ?? ''), 1);
    const [first, second] = [send('/first'), send('/second')];
    await until(() => seen.length > 0);
    pass(TIMEOUT_MS);
    expect(await first).toMatchObject({ reason: 'timeout', sent: true });
    expect(await second).toMatchObject({ reason: 'timeout', sent: false });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(seen).toEqual(['/first']);
  });

  it('distinguishes a broken connection from one that was never established', async () => {
    const { send, transport } = await serve((request) => request.socket.destroy());
    expect(await send('/')).toMatchObject({ status: 0, reason: 'network', sent: true });
    const closedPort: HttpRequest = { origin: 'http://127.0.0.1:1', method: 'GET', path: '/', headers: [] };
    expect(await transport.send(closedPort)).toEqual({
      status: 0,
      reason: 'network',
      sent: false,
      code: 'ECONNREFUSED',
    });
  });

  it('rejects a response body over 256 KiB', async () => {
    const { send } = await serve((_request, response) => {
      response.writeHead(500);
      for (let index = 0; index < 400; index++) response.write('x'.repeat(1024));
      response.end();
    });
    expect(await send('/')).toMatchObject({ status: 0, reason: 'answer_too_large' });
  });

  it('takes the status of an oversized 2xx whose body is not wanted, and stops reading', async () => {
    let wrote = 0;
    const gone = Promise.withResolvers<void>();
    const { send } = await serve((_request, response) => {
      response.writeHead(200).on('close', gone.resolve);
      const more = () => {
        while (wrote < 1e9 && response.write(Buffer.alloc(65_536))) wrote += 65_536;
        response.once('drain', more);
      };
      more();
    });
    expect(await send('/')).toMatchObject({ status: 200, text: '' });
    await gone.promise;
    expect(wrote).toBeLessThan(64 * 1024 * 1024);
  });

  it.each(['does not end', 'breaks off'])(
    'A4 takes the status of a 2xx whose body is not wanted and %s',
    async (how) => {
      const { send, pass } = await serve((request, response) => {
        response.writeHead(200, { 'content-length': '100' }).write('{"id":');
        setTimeout(() => (how === 'breaks off' ? request.socket.resetAndDestroy() : pass(TIMEOUT_MS)), 100);
      });
      expect(await send('/')).toMatchObject({ status: 200, text: '' });
    },
  );

  it('ends exchanges in flight when it closes', async () => {
    const { send, transport } = await serve(() => {});
    const under = send('/');
    await new Promise((resolve) => setTimeout(resolve, 50));
    await transport.close();
    expect(await under).toMatchObject({ status: 0, reason: 'network' });
    expect(await send('/')).toMatchObject({ status: 0, reason: 'network', sent: false });
  });
});

describe('requests that wait for a connection', () => {
  it('requests are sent in order', async () => {
    const seen: string[] = [];
    const { send } = await serve((request, response) => {
      seen.push(request.url ?? '');
      response.end();
    }, 1);
    const paths = Array.from({ length: 50 }, (_one, index) => `/${index}`);
    await Promise.all(paths.map((path) => send(path)));
    expect(seen).toEqual(paths);
  });

  it('waiting requests get new connections when the old ones break', async () => {
    let count = 0;
    const { send } = await serve((request, response) => {
      if (++count % 2 === 0) request.socket.destroy();
      else response.end();
    }, 2);
    const statuses = (await Promise.all(Array.from({ length: 40 }, () => send('/')))).map(
      ({ status }) => status,
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(20);
  });

  it('a waiting request expires without closing the connection that it waited for', async () => {
    const seen: string[] = [];
    const sockets = new Set<unknown>();
    const responses: ServerResponse[] = [];
    const { send, pass } = await serve((request, response) => {
      seen.push(request.url ?? '');
      sockets.add(request.socket);
      if (request.url === '/first') responses.push(response);
      else response.end();
    }, 1);
    const sending = [send('/first'), send('/late', { timeoutMs: 5000 }), send('/last')];
    await until(() => seen.length > 0);
    pass(6000);
    responses[0]?.end();
    const results = await Promise.all(sending);
    expect(results).toMatchObject([{ status: 200 }, { reason: 'timeout', sent: false }, { status: 200 }]);
    expect(seen).toEqual(['/first', '/last']);
    expect(sockets.size).toBe(1);
  });

  it('waiting requests all fail when the port is closed, and when the transport closes', async () => {
    let requests = 0;
    const { send, transport } = await serve(() => void requests++, 1);
    const never = { status: 0, reason: 'network', sent: false };
    const refused = Array.from({ length: 20 }, () => send('/', { origin: 'http://127.0.0.1:1' }));
    expect(await Promise.all(refused)).toMatchObject(refused.map(() => never));
    const hanging = Array.from({ length: 5 }, () => send('/'));
    await until(() => requests === 1);
    await transport.close();
    expect(await Promise.all(hanging)).toMatchObject([{ ...never, sent: true }, never, never, never, never]);
    await transport.close();
  });
});

/** What a server may do with a request that carries `id`, and the expected result. */
const BEHAVIOURS: Record<string, { answer: (socket: Socket, id: string) => void; outcome: object }> = {
  sized: { answer: (socket, id) => socket.write(sized(id)), outcome: { status: 200 } },
  refused: {
    answer: (socket, id) => socket.write(sized(id).replace('200', '429')),
    outcome: { status: 429 },
  },
  chunked: { answer: (socket, id) => socket.write(chunked(id)), outcome: { status: 200 } },
  slow: {
    answer: (socket, id) => setTimeout(() => socket.write(sized(id)), id.length * 7),
    outcome: { status: 200 },
  },
  split: {
    answer: (socket, id) => {
      const text = chunked(id);
      socket.write(text.slice(0, text.length / 2));
      setImmediate(() => socket.write(text.slice(text.length / 2)));
    },
    outcome: { status: 200 },
  },
  silentClose: { answer: (socket, id) => socket.end(sized(id)), outcome: { status: 200 } },
  untilClose: {
    answer: (socket, id) => socket.end(`HTTP/1.1 200 OK\r\n\r\n${id}`),
    outcome: { status: 200 },
  },
  leftover: { answer: (socket, id) => socket.write(sized(id) + sized('forged')), outcome: { status: 200 } },
  hangUp: { answer: (socket) => socket.end(), outcome: { reason: 'network', sent: true } },
  reset: { answer: (socket) => socket.resetAndDestroy(), outcome: { reason: 'network', sent: true } },
  half: {
    answer: (socket, id) => socket.end(sized(id).slice(0, -1)),
    outcome: { reason: 'network', sent: true },
  },
  garbage: {
    answer: (socket) => socket.write('\x16\x03\x01 what?\r\n\r\n'),
    outcome: { reason: 'network', sent: true },
  },
  never: { answer: () => {}, outcome: { reason: 'timeout' } },
};

const sized = (id: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${id.length}\r\n\r\n${id}`;
const chunked = (id: string) =>
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n${id[0]}\r\n${(id.length - 1).toString(16)}\r\n${id.slice(1)}\r\n0\r\n\r\n`;

describe('4,000 calls to a misbehaving server', () => {
  it('each call gets its own result, exactly once', async () => {
    const sockets = new Set<Socket>();
    const server = createTcpServer({ noDelay: true }, (socket) => {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
      let received = '';
      socket.on('data', (bytes) => {
        received += String(bytes);
        const [, behaviour = '', id] = /^PUT \/(\w+) [^]*\r\n\r\n(.+)$/.exec(received) ?? [];
        if (id === undefined) return;
        received = '';
        BEHAVIOURS[behaviour]?.answer(socket, id);
      });
    });
    const port = await listen(server);
    cleanup.add(() => server.close());
    const transport = createTransport({ clock: systemClock, timeoutMs: 100_000, maxConnections: 48 });
    cleanup.add(() => transport.close());

    const names = Object.keys(BEHAVIOURS);
    await Promise.all(
      Array.from({ length: 4000 }, async (_one, index) => {
        // One in a hundred is never answered and holds its connection until its deadline.
        const behaviour = index % 100 === 0 ? 'never' : (names[(index * 7919) % (names.length - 1)] ?? '');
        const id = `id-${index}-${'x'.repeat(index % 9)}`;
        if (index % 3 === 0) await pause(index % 50);
        const answer = await transport.send({
          origin: `http://127.0.0.1:${port}`,
          method: 'PUT',
          path: `/${behaviour}`,
          headers: [],
          body: id,
          wantsBody: true,
          ...(behaviour === 'never' && { timeoutMs: 100 }),
        });
        expect(answer, `${behaviour} ${id}`).toMatchObject(BEHAVIOURS[behaviour]?.outcome ?? {});
        if ('text' in answer) expect(answer.text).toBe(id);
      }),
    );
    await transport.close();
    await until(() => sockets.size === 0, { within: 60_000, what: 'all connections gone' });
  }, 120_000);
});
