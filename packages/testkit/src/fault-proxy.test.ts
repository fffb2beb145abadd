import { once } from 'node:events';
import { createServer as createHttp } from 'node:http';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startFaultProxy } from './fault-proxy.ts';
import type { FaultProxy } from './fault-proxy.ts';
import { closeHttp, listen } from './loopback.ts';
import { createCleanup } from './cleanup.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

/** Polls with a generous timeout, because the machine may be under load. */
const soon = <T>(poll: () => T | Promise<T>) => expect.poll(poll, { timeout: 60_000, interval: 5 });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('over TCP', () => {
  let proxy: FaultProxy;
  let peers: Socket[] = [];
  let received = '';

  /** Starts an echo server; `peers` are its sockets. */
  beforeEach(async () => {
    peers = [];
    received = '';
    const server = createServer((socket) => {
      peers.push(socket);
      socket.on('data', (data) => {
        received += data.toString();
        socket.write(data);
      });
      socket.on('error', () => undefined);
    });
    const port = await listen(server);
    proxy = await startFaultProxy({ to: `127.0.0.1:${port}` });
    cleanup.add(async () => {
      await proxy.stop();
      for (const peer of peers) peer.destroy();
      await new Promise((resolve) => server.close(resolve));
    });
  });

  async function client(): Promise<Socket & { got: string; ended?: string }> {
    const socket = Object.assign(connect(proxy.port, '127.0.0.1'), { got: '' });
    socket.on('data', (data) => (socket.got += data.toString()));
    socket.on('error', (error: NodeJS.ErrnoException) => Object.assign(socket, { ended: error.code }));
    socket.on('end', () => Object.assign(socket, { ended: 'FIN' }));
    cleanup.add(() => socket.destroy());
    await once(socket, 'connect');
    return socket;
  }

  it('forwards all bytes and the end of the stream in both directions without toxics', async () => {
    const socket = await client();
    const text = 'abc'.repeat(200_000);
    socket.end(text);
    await soon(() => socket.ended).toBe('FIN');
    expect(socket.got).toBe(text);
    expect(proxy.seen).toEqual({ connections: 1, up: 600_000, down: 600_000 });
    await soon(() => proxy.open).toBe(0);
  });

  it('latency delays the data without reducing the throughput', async () => {
    proxy.add({ type: 'latency', ms: 400, direction: 'down' });
    const socket = await client();
    const started = performance.now();
    for (let i = 0; i < 50; i++) {
      socket.write('x');
      await pause(1);
    }
    await soon(() => socket.got.length).toBe(50);
    const took = performance.now() - started;
    expect(took).toBeGreaterThanOrEqual(440);
    // One after the other they would take 20 s.
    expect(took).toBeLessThan(18_000);
  });

  it('bandwidth and slicer slow down and split the data and keep its order', async () => {
    proxy.add({ type: 'bandwidth', bytesPerSec: 10_000, direction: 'up' });
    const socket = await client();
    const text = Array.from({ length: 1_000 }, (_, i) => i % 10).join('');
    const started = performance.now();
    socket.write(text);
    await soon(() => socket.got.length).toBe(1_000);
    expect(performance.now() - started).toBeGreaterThanOrEqual(90);
    proxy.clear();
    proxy.add({ type: 'slicer', bytes: 50, delayMs: 2, direction: 'up' });
    const pieces: number[] = [];
    peers[0]?.on('data', (data) => pieces.push(data.length));
    socket.write(text);
    await soon(() => socket.got).toBe(text + text);
    expect(Math.max(...pieces)).toBeLessThan(500);
    expect(pieces.length).toBeGreaterThan(3);
  });

  it('limit_data closes the connection after the given number of bytes', async () => {
    proxy.add({ type: 'limit_data', bytes: 5, direction: 'down' });
    const socket = await client();
    socket.write('0123456789');
    await soon(() => socket.ended).toBeDefined();
    expect(socket.got).toBe('01234');
    expect(received).toBe('0123456789');
  });

  it('reset_peer resets new and open connections, immediately or after a delay', async () => {
    const socket = await client();
    const started = performance.now();
    proxy.add({ type: 'reset_peer', afterMs: 50 });
    await soon(() => socket.ended).toBe('ECONNRESET');
    expect(performance.now() - started).toBeGreaterThanOrEqual(45);
    proxy.clear();
    proxy.add({ type: 'reset_peer' });
    expect(await isReset(proxy)).toBe(true);
  });

  it('timeout drops all data, and its removal resets the affected connections', async () => {
    const socket = await client();
    const toxic = proxy.add({ type: 'timeout' });
    socket.write('lost');
    await pause(50);
    expect([received, socket.got, socket.ended]).toEqual(['', '', undefined]);
    toxic.remove();
    await soon(() => socket.ended).toBe('ECONNRESET');
    const next = await client();
    next.write('back');
    await soon(() => next.got).toBe('back');
  });

  it('timeout also hides a reset', async () => {
    const socket = await client();
    socket.write('x');
    await soon(() => socket.got).toBe('x');
    proxy.add({ type: 'timeout' });
    socket.resetAndDestroy();
    await pause(50);
    expect(peers[0]?.destroyed).toBe(false);
  });

  it('half_open hides the disconnect of a client from the server', async () => {
    proxy.add({ type: 'half_open', direction: 'up' });
    const [closing, resetting] = await Promise.all([client(), client()]);
    closing.write('a');
    resetting.write('b');
    await soon(() => received.length).toBe(2);
    closing.end();
    resetting.resetAndDestroy();
    await pause(50);
    expect(peers.map((peer) => peer.readyState)).toEqual(['open', 'open']);
    for (const peer of peers) peer.write('ping');
    await pause(20);
    expect(peers.map((peer) => peer.destroyed)).toEqual([false, false]);
    proxy.clear();
    await soon(() => peers.filter((peer) => peer.destroyed).length).toBeGreaterThan(0);
  });

  it('slow_close delays the end of the stream', async () => {
    proxy.add({ type: 'slow_close', ms: 80, direction: 'up' });
    const socket = await client();
    socket.end('x');
    const started = performance.now();
    await soon(() => socket.ended).toBe('FIN');
    expect(performance.now() - started).toBeGreaterThanOrEqual(75);
  });

  it('affects random connections, the same ones for the same seed, up to a maximum number', async () => {
    const resets = async (seed: number) => {
      const seeded = await startFaultProxy({ to: proxy.address, seed });
      cleanup.add(() => seeded.stop());
      seeded.add({ type: 'reset_peer', probability: 0.5 });
      let pattern = '';
      for (let i = 0; i < 12; i++) pattern += (await isReset(seeded)) ? 'x' : '-';
      return pattern;
    };
    const first = await resets(7);
    expect(await resets(7)).toBe(first);
    expect(await resets(8)).not.toBe(first);
    expect(first).toMatch(/x-|-x/);

    await soon(() => proxy.open).toBe(0);
    const toxic = proxy.add({ type: 'reset_peer', times: 1 });
    expect([await isReset(proxy), await isReset(proxy)]).toEqual([true, false]);
    expect(toxic.hits).toBe(1);
  });

  it('can reset all connections, stop listening, and listen again on the same port', async () => {
    const socket = await client();
    proxy.cut();
    await soon(() => socket.ended).toBe('ECONNRESET');
    await proxy.down();
    await expect(client()).rejects.toThrow('ECONNREFUSED');
    await proxy.up();
    const next = await client();
    next.write('x');
    await soon(() => next.got).toBe('x');
  });

  it('does not leak a socket if a reset and a close coincide', async () => {
    for (let i = 0; i < 60; i++) {
      const socket = await client();
      socket.write('x');
      await soon(() => socket.got).toBe('x');
      peers.at(-1)?.end();
      for (let turns = i % 6; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
      proxy.cut();
    }
    await soon(() => proxy.open).toBe(0);
  });

  it('resets a client if the server is not running', async () => {
    const unconnected = await startFaultProxy({ to: '127.0.0.1:9' });
    cleanup.add(() => unconnected.stop());
    const socket = connect(unconnected.port, '127.0.0.1');
    const [error] = await once(socket, 'error').catch((reason: unknown) => [reason]);
    expect(error).toMatchObject({ code: 'ECONNRESET' });
  });
});

/** Returns whether a new connection through the proxy is reset. */
async function isReset(proxy: FaultProxy): Promise<boolean> {
  const socket = connect(proxy.port, '127.0.0.1');
  socket.write('x');
  const echoed = await once(socket, 'data').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return !echoed;
}

describe('over HTTP', () => {
  let proxy: FaultProxy;
  let bodies: string[] = [];
  const post = (body: string) => fetch(`http://${proxy.address}/`, { method: 'POST', body });

  beforeEach(async () => {
    bodies = [];
    const server = createHttp((request, response) => {
      let body = '';
      request.on('data', (data: Buffer) => (body += data.toString()));
      request.on('end', () => {
        bodies.push(body);
        response.end('done');
      });
    });
    const url = `http://127.0.0.1:${await listen(server)}`;
    proxy = await startFaultProxy({ to: url });
    expect(proxy.url(`${url}/a?b=1`)).toBe(`http://${proxy.address}/a?b=1`);
    expect(proxy.url(url)).toBe(`http://${proxy.address}`);
    cleanup.add(async () => {
      await proxy.stop();
      await closeHttp(server);
    });
  });

  it('drop_response forwards the request and drops the response', async () => {
    expect((await post('before')).status).toBe(200);
    const toxic = proxy.add({ type: 'drop_response', times: 1 });
    await expect(post('dropped')).rejects.toThrow('fetch failed');
    expect(bodies).toEqual(['before', 'dropped']);
    expect(await (await post('after')).text()).toBe('done');
    expect(toxic.hits).toBe(1);
  });

  it('duplicate_request forwards the request twice and returns one response', async () => {
    proxy.add({ type: 'duplicate_request', times: 1 });
    expect((await post('once')).status).toBe(200);
    expect((await post('twice?')).status).toBe(200);
    await soon(() => [...bodies].sort()).toEqual(['once', 'once', 'twice?']);
  });

  it('decides for each request of a keep-alive connection', async () => {
    const toxic = proxy.add({ type: 'duplicate_request', probability: 0.5 });
    for (let i = 0; i < 20; i++) await (await post(String(i))).text();
    expect(toxic.hits).toBeGreaterThan(3);
    expect(toxic.hits).toBeLessThan(17);
    await soon(() => bodies.length).toBe(20 + toxic.hits);
  });
});

it('requires a port', async () => {
  await expect(startFaultProxy({ to: 'localhost' })).rejects.toThrow('use host:port');
});
