import { once } from 'node:events';
import { createServer as createHttp } from 'node:http';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startFaultProxy } from './fault-proxy.ts';
import type { FaultProxy } from './fault-proxy.ts';
import { closeHttp, listen } from './loopback.ts';
import { undoList } from './undo.ts';

const undo = undoList();
afterEach(() => undo.run());

/** Loaded machines are slow machines. */
const soon = <T>(look: () => T | Promise<T>) => expect.poll(look, { timeout: 20_000, interval: 5 });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('over TCP', () => {
  let proxy: FaultProxy;
  let peers: Socket[] = [];
  let heard = '';

  /** Echoes what it hears; `peers` are the server's ends. */
  beforeEach(async () => {
    peers = [];
    heard = '';
    const server = createServer((socket) => {
      peers.push(socket);
      socket.on('data', (data) => {
        heard += data.toString();
        socket.write(data);
      });
      socket.on('error', () => undefined);
    });
    const port = await listen(server);
    proxy = await startFaultProxy({ to: `127.0.0.1:${port}` });
    undo.add(async () => {
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
    undo.add(() => socket.destroy());
    await once(socket, 'connect');
    return socket;
  }

  it('is faithful without toxics, both ways, to the last byte and to the end', async () => {
    const socket = await client();
    const text = 'abc'.repeat(200_000);
    socket.end(text);
    await soon(() => socket.ended).toBe('FIN');
    expect(socket.got).toBe(text);
    expect(proxy.seen).toEqual({ connections: 1, up: 600_000, down: 600_000 });
    await soon(() => proxy.open).toBe(0);
  });

  it('latency delays without slowing the stream down', async () => {
    proxy.add({ type: 'latency', ms: 200, direction: 'down' });
    const socket = await client();
    const started = performance.now();
    for (let i = 0; i < 50; i++) {
      socket.write('x');
      await pause(1);
    }
    await soon(() => socket.got.length).toBe(50);
    const took = performance.now() - started;
    expect(took).toBeGreaterThanOrEqual(240);
    // One after the other they would take 10 s.
    expect(took).toBeLessThan(9_000);
  });

  it('bandwidth and slicer make it drip, in order', async () => {
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

  it('limit_data cuts in the middle', async () => {
    proxy.add({ type: 'limit_data', bytes: 5, direction: 'down' });
    const socket = await client();
    socket.write('0123456789');
    await soon(() => socket.ended).toBeDefined();
    expect(socket.got).toBe('01234');
    expect(heard).toBe('0123456789');
  });

  it('reset_peer resets, at once or later, open connections too', async () => {
    const socket = await client();
    const started = performance.now();
    proxy.add({ type: 'reset_peer', afterMs: 50 });
    await soon(() => socket.ended).toBe('ECONNRESET');
    expect(performance.now() - started).toBeGreaterThanOrEqual(45);
    proxy.clear();
    proxy.add({ type: 'reset_peer' });
    expect(await isReset(proxy)).toBe(true);
  });

  it('timeout swallows everything, and such a connection does not survive the healing', async () => {
    const socket = await client();
    const toxic = proxy.add({ type: 'timeout' });
    socket.write('lost');
    await pause(50);
    expect([heard, socket.got, socket.ended]).toEqual(['', '', undefined]);
    toxic.remove();
    await soon(() => socket.ended).toBe('ECONNRESET');
    const next = await client();
    next.write('back');
    await soon(() => next.got).toBe('back');
  });

  it('timeout hides a death as well', async () => {
    const socket = await client();
    socket.write('x');
    await soon(() => socket.got).toBe('x');
    proxy.add({ type: 'timeout' });
    socket.resetAndDestroy();
    await pause(50);
    expect(peers[0]?.destroyed).toBe(false);
  });

  it('half_open lets the server believe in a client that is gone', async () => {
    proxy.add({ type: 'half_open', direction: 'up' });
    const [polite, rude] = await Promise.all([client(), client()]);
    polite.write('a');
    rude.write('b');
    await soon(() => heard.length).toBe(2);
    polite.end();
    rude.resetAndDestroy();
    await pause(50);
    expect(peers.map((peer) => peer.readyState)).toEqual(['open', 'open']);
    for (const peer of peers) peer.write('anybody?');
    await pause(20);
    expect(peers.map((peer) => peer.destroyed)).toEqual([false, false]);
    proxy.clear();
    await soon(() => peers.filter((peer) => peer.destroyed).length).toBeGreaterThan(0);
  });

  it('slow_close keeps the end to itself for a while', async () => {
    proxy.add({ type: 'slow_close', ms: 80, direction: 'up' });
    const socket = await client();
    socket.end('x');
    const started = performance.now();
    await soon(() => socket.ended).toBe('FIN');
    expect(performance.now() - started).toBeGreaterThanOrEqual(75);
  });

  it('strikes by chance, the same for the same seed, and at most so many times', async () => {
    const struckBy = async (seed: number) => {
      const line = await startFaultProxy({ to: proxy.address, seed });
      undo.add(() => line.stop());
      line.add({ type: 'reset_peer', probability: 0.5 });
      let fates = '';
      for (let i = 0; i < 12; i++) fates += (await isReset(line)) ? 'x' : '-';
      return fates;
    };
    const first = await struckBy(7);
    expect(await struckBy(7)).toBe(first);
    expect(await struckBy(8)).not.toBe(first);
    expect(first).toMatch(/x-|-x/);

    await soon(() => proxy.open).toBe(0);
    const toxic = proxy.add({ type: 'reset_peer', times: 1 });
    expect([await isReset(proxy), await isReset(proxy)]).toEqual([true, false]);
    expect(toxic.hits).toBe(1);
  });

  it('can cut, leave, and come back on its port', async () => {
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

  it('loses no socket when a reset meets a close', async () => {
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

  it('resets a client whose server is not there', async () => {
    const lonely = await startFaultProxy({ to: '127.0.0.1:9' });
    undo.add(() => lonely.stop());
    const socket = connect(lonely.port, '127.0.0.1');
    const [error] = await once(socket, 'error').catch((reason: unknown) => [reason]);
    expect(error).toMatchObject({ code: 'ECONNRESET' });
  });
});

/** Whether a new connection through the proxy is reset rather than echoed. */
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
    undo.add(async () => {
      await proxy.stop();
      await closeHttp(server);
    });
  });

  it('drop_response: the request arrived, the answer did not', async () => {
    expect((await post('before')).status).toBe(200);
    const toxic = proxy.add({ type: 'drop_response', times: 1 });
    await expect(post('dropped')).rejects.toThrow('fetch failed');
    expect(bodies).toEqual(['before', 'dropped']);
    expect(await (await post('after')).text()).toBe('done');
    expect(toxic.hits).toBe(1);
  });

  it('duplicate_request: one answer, two arrivals', async () => {
    proxy.add({ type: 'duplicate_request', times: 1 });
    expect((await post('once')).status).toBe(200);
    expect((await post('twice?')).status).toBe(200);
    await soon(() => [...bodies].sort()).toEqual(['once', 'once', 'twice?']);
  });

  it('casts the dice per request on a connection that is kept alive', async () => {
    const toxic = proxy.add({ type: 'duplicate_request', probability: 0.5 });
    for (let i = 0; i < 20; i++) await (await post(String(i))).text();
    expect(toxic.hits).toBeGreaterThan(3);
    expect(toxic.hits).toBeLessThan(17);
    await soon(() => bodies.length).toBe(20 + toxic.hits);
  });
});

it('asks for a port', async () => {
  await expect(startFaultProxy({ to: 'localhost' })).rejects.toThrow('write host:port');
});
