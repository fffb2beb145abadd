import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import type { Budget } from '../budgets.ts';
import { Connections } from './connections.ts';
import { HARDENING, createHardenedServer } from './hardened-server.ts';
import type { Hardening } from './hardened-server.ts';

let server: Server | undefined;
const sockets = new Set<Socket>();

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  server = undefined;
});

const budget = (more: Partial<Budget> = {}): Budget => ({
  about: '',
  slots: { total: 1000 },
  memoryBytes: 1_000_000,
  stall: { bytes: 1, ms: 60_000 },
  maxMs: 60_000,
  dropsIncomplete: true,
  ...more,
});

async function start(
  handler: Parameters<typeof createHardenedServer>[0],
  more: Partial<Hardening> = {},
  connections = new Connections(1000),
): Promise<number> {
  const hardening = { ...HARDENING, budgets: [], otherBudget: budget(), ...more };
  server = createHardenedServer(handler, hardening, connections);
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

  it('T28 disconnects a client that sends its body in tiny chunks, and reads a body in larger ones', async () => {
    const sizes: number[] = [];
    const port = await start((request, response) => {
      let size = 0;
      request.on('data', (part: Buffer) => (size += part.length));
      request.on('end', () => {
        sizes.push(size);
        response.end('complete');
      });
    });
    const chunked = (size: number, count: number) => {
      const chunk = `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`;
      return `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(count)}0\r\n\r\n`;
    };
    expect(await raw(port, chunked(1, 300))).toBe('');
    expect(await raw(port, chunked(1, 200))).toContain('complete');
    expect(await raw(port, chunked(300, 1000))).toContain('complete');
    expect(sizes).toEqual([200, 300_000]);
  });

  it('T27 handles one pipelined request per turn of the event loop, so that others are served in between', async () => {
    const turns: number[] = [];
    let turn = 0;
    const count = () => {
      turn++;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    const port = await start((_request, response) => {
      turns.push(turn);
      response.end();
    });
    await raw(
      port,
      `${'GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(19)}GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    );
    clearImmediate(counting);
    expect(turns).toHaveLength(20);
    expect(new Set(turns).size).toBe(20);
  });

  it.each([
    ['a CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a handshake', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ['a malformed request', 'x\r\n\r\n'],
  ])('T27 frees the slots of pipelined requests when %s follows them', async (_what, last) => {
    const port = await start(
      (request, response) => {
        setTimeout(() => response.end('healthy'), request.url === '/slow' ? 20 : 0);
      },
      { otherBudget: budget({ slots: { total: 30 }, dropsIncomplete: false }) },
    );
    server?.on('upgrade', (_request, socket) => void setTimeout(() => socket.destroy(), 5));
    for (let attack = 1; attack <= 5; attack++)
      await raw(port, `${'GET /slow HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(10)}${last}`);
    const healthy = await Promise.all(Array.from({ length: 20 }, () => fetch(`http://127.0.0.1:${port}/`)));
    expect(healthy.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  });

  it('T28 connections without a request make room for new ones, first those that never had one', async () => {
    const port = await start(echo, {}, new Connections(3));
    const closed: string[] = [];
    const open = async (name: string) => {
      const socket = connect(port, '127.0.0.1');
      sockets.add(socket);
      socket.on('close', () => closed.push(name)).on('error', () => undefined);
      await once(socket, 'connect');
      return socket;
    };
    const use = async (name: string) => {
      const socket = await open(name);
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      await once(socket, 'data');
    };
    await use('first');
    await open('slow headers').then((socket) => socket.write('GET / HTTP/1.1\r\nHost: '));
    await open('silent');
    for (let number = 0; number < 10; number++)
      expect(await raw(port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).toContain('hello');
    await until(() => closed.length > 0);
    expect(closed).toEqual(['slow headers']);
    for (const name of ['second', 'third', 'fourth']) await use(name);
    await until(() => closed.length === 3);
    expect(closed).toEqual(['slow headers', 'silent', 'first']);
  });

  it('requests above the total limit get 503 with Retry-After', async () => {
    let arrived = 0;
    const port = await start(() => void arrived++, { otherBudget: budget({ slots: { total: 1 } }) });
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
    const port = await start(readAll, { otherBudget: budget({ slots: { total: 3 } }) });
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

  it('T52 a kind of request that is full does not take slots from another kind', async () => {
    let uploads = 0;
    const handler = ({ url }: IncomingMessage, response: ServerResponse) =>
      url === '/upload' ? void uploads++ : response.end('healthy');
    const full = budget({ slots: { total: 1 }, dropsIncomplete: false });
    const port = await start(handler, { budgets: [['/upload', full]] });
    const upload = 'POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc';
    void raw(port, upload);
    await until(() => uploads === 1);
    expect(await raw(port, upload)).toMatch(/^HTTP\/1\.1 503 /);
    expect(uploads).toBe(1);
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);
  });

  it('T52 an address beyond its share gets 429, and another address is served', async () => {
    let arrived = 0;
    const port = await start(() => void arrived++, {
      otherBudget: budget({ slots: { total: 100, perAddress: 2 } }),
      addressOf: ({ headers }) => String(headers['x-address']),
    });
    const from = (address: string) => raw(port, `GET / HTTP/1.1\r\nHost: a\r\nX-Address: ${address}\r\n\r\n`);
    void from('a');
    void from('a');
    await until(() => arrived === 2);
    expect(await from('a')).toMatch(/^HTTP\/1\.1 429 [\s\S]*Retry-After: 5/);
    void from('b');
    await until(() => arrived === 3);
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
describe('slow clients', () => {
  const QUICK = {
    headersMs: 100,
    sweepMs: 20,
    otherBudget: budget({ maxMs: 100 }),
    budgets: [['/upload', budget({ stall: { bytes: 5, ms: 200 } })]],
  } satisfies Partial<Hardening>;
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

  it('T28 a client that sends fewer bytes than its budget demands is disconnected', async () => {
    const port = await start((request) => request.resume(), QUICK);
    const socket = connect(port, '127.0.0.1');
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.write('POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n');
    const trickle = setInterval(() => socket.write('x'), 100);
    await until(() => socket.destroyed);
    clearInterval(trickle);
  });

  it('T28 a slow client that makes progress is not disconnected', async () => {
    let read = 0;
    const handler = (request: IncomingMessage, response: ServerResponse) =>
      request
        .on('data', (part: Buffer) => (read += request.url === '/upload' ? part.length : 0))
        .on('end', () => response.end('ok'));
    const upload = budget({ stall: { bytes: 5, ms: 10_000 } });
    const port = await start(handler, { ...QUICK, budgets: [['/upload', upload]] });
    const socket = connect(port, '127.0.0.1');
    sockets.add(socket);
    const answered = once(socket, 'data');
    socket.write('POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\n\r\n');
    for (let sent = 1; sent <= 3; sent++) {
      socket.write('x'.repeat(10));
      await until(() => read >= 10 * sent, { every: 2 });
      // Each time the sweeps disconnect a request that arrived later: they have also seen the upload.
      await raw(port, slow('/'));
    }
    const [answer] = (await answered) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('T28 a client that does not read its response is disconnected', async () => {
    const unread = Buffer.alloc(64 * 1_048_576);
    const port = await start((_request, response) => response.end(unread), {
      ...QUICK,
      otherBudget: budget({ stall: { bytes: 1, ms: 200 } }),
    });
    const socket = connect(port, '127.0.0.1');
    sockets.add(socket);
    socket.pause().on('error', () => undefined);
    const [accepted] = (await once(server as Server, 'connection')) as [Socket];
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(8));
    await until(() => accepted.destroyed);
  });

  it('T28 a client that waits for its response is not disconnected', async () => {
    const waiting: ServerResponse[] = [];
    const port = await start(
      ({ url }, response) => (url === '/wait' ? void waiting.push(response) : undefined),
      QUICK,
    );
    const answer = raw(port, 'GET /wait HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    await until(() => waiting.length === 1);
    // Disconnected by a sweep, which has also seen the earlier request.
    for (let round = 0; round < 3; round++) await raw(port, slow('/'));
    waiting[0]?.end('done');
    expect(await answer).toMatch(/done$/);
  });

  it('a client that does not send its headers is disconnected, after 10 to 20 s by default', async () => {
    const port = await start(echo, QUICK);
    expect(await raw(port, 'GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ')).toMatch(/^HTTP\/1\.1 408 /);
    expect(HARDENING.headersMs).toBeGreaterThanOrEqual(10_000);
    expect(HARDENING.headersMs + HARDENING.sweepMs).toBeLessThan(20_000);
  });

  it('a client that sends nothing is disconnected without a response: a browser would take it for the response to its next request', async () => {
    const port = await start(echo, QUICK);
    expect(await raw(port, '')).toBe('');
  });

  it('a client that does not send its second headers is disconnected, and the response to its first request has no other in it', async () => {
    const port = await start((_request, response) => void response.write('part'), QUICK);
    const answer = await raw(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toMatch(/part\r\n$/);
  });

  /** Blocks the process. Afterwards, timers run before the sockets are read. */
  async function stall(ms: number, before: () => void): Promise<void> {
    await nextTurn();
    before();
    const end = performance.now() + ms;
    while (performance.now() < end);
  }

  const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

  it.each([
    ['a request that arrived', '', REQUEST, 'hello'],
    ['a request whose end arrived', 'GET / HTTP/1.1\r\nHost: ', 'a\r\n\r\n', 'hello'],
    [
      'a handshake that arrived',
      '',
      'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      'upgraded',
    ],
  ])('%s while the process was stalled is answered', async (_what, before, during, answer) => {
    const hardening = { ...QUICK, headersMs: 1000 };
    const port = await start(echo, hardening);
    server?.on('upgrade', (_request, socket: Socket) => socket.write('upgraded'));
    const accepted = once(server ?? expect.fail(), 'connection');
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    const [there] = (await accepted) as [Socket];
    sockets.add(socket).add(there);
    socket.write(before);
    await until(() => there.bytesRead === before.length);
    const answered = once(socket, 'data');
    await stall(hardening.headersMs + 10 * hardening.sweepMs, () => socket.write(during));
    expect(await answered).toEqual([expect.stringContaining(answer)]);
    await raw(port, slow('/'));
    expect(socket.readableEnded).toBe(false);
  });

  it('a later request that arrived on a connection while the process was stalled is answered, also after the idle time', async () => {
    const port = await start(echo, QUICK);
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    sockets.add(socket);
    // Node adds a second to it.
    if (server !== undefined) server.keepAliveTimeout = 100;
    const first = once(socket, 'data');
    socket.write(REQUEST);
    await first;
    const second = once(socket, 'data');
    await stall(1300, () => socket.write(REQUEST));
    expect(await second).toEqual([expect.stringContaining('hello')]);
    expect(await raw(port, REQUEST)).toContain('hello');
  });
});
