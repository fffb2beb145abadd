import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

import { silentLog } from '@footbridge/testkit/silent-log';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { BUDGETS } from '../budgets.ts';
import { startListener } from './listener.ts';
import type { Listener } from './listener.ts';

const GET = 'GET /now HTTP/1.1\r\nHost: a\r\n\r\n';
const LONG = 600_000;
/** Connects, waits for the first flag, sends the request, sets the second flag, and posts what it receives until the end. */
const CLIENT_IN_THREAD = `
  const { connect } = require('node:net');
  const { parentPort, workerData: { flags, port, request } } = require('node:worker_threads');
  let text = '';
  const post = () => parentPort.postMessage(text);
  const socket = connect(port, '127.0.0.1', () => {
    parentPort.postMessage('connected');
    Atomics.wait(flags, 0, 0);
    socket.write(request, () => {
      Atomics.store(flags, 1, 1);
      Atomics.notify(flags, 1);
    });
  });
  socket.on('data', (part) => (text += part)).on('end', post).on('error', post);
`;

/** Opens connections, sends one request on each, sets the flag, and posts how many responses with status 200 it got. */
const CLIENTS_IN_THREAD = `
  const { connect } = require('node:net');
  const { parentPort, workerData: { flags, port, request, connections } } = require('node:worker_threads');
  let [written, answered, closed] = [0, 0, 0];
  for (let index = 0; index < connections; index++) {
    const socket = connect(port, '127.0.0.1', () => socket.write(request, () => {
      if (++written < connections) return;
      Atomics.store(flags, 0, 1);
      Atomics.notify(flags, 0);
    }));
    socket.on('data', (part) => (answered += String(part).startsWith('HTTP/1.1 200') ? 1 : 0));
    socket.on('error', () => {});
    socket.on('close', () => ++closed === connections && parentPort.postMessage(answered));
  }
`;

interface Client {
  readonly socket: Socket;
  /** Everything received so far. */
  text: string;
  ended: boolean;
  error: string;
}

describe('a listener that drains', () => {
  const clients: Client[] = [];
  let listener: Listener;
  let release: (() => void)[] = [];
  let handled = 0;

  async function start(): Promise<void> {
    handled = 0;
    release = [];
    listener = await startListener(
      {
        name: 'test',
        log: silentLog,
        trusted: () => false,
        hardening: { budgets: [], otherBudget: BUDGETS.other },
        routes: [
          (app) => {
            app.get('/now', async () => {
              handled++;
              return 'now';
            });
            app.get('/later', async () => {
              handled++;
              await new Promise<void>((resolve) => release.push(resolve));
              return 'later';
            });
          },
        ],
      },
      { host: '127.0.0.1', port: 0 },
    );
  }

  async function open(): Promise<Client> {
    const socket = connect(Number(new URL(listener.url).port), '127.0.0.1');
    const client: Client = { socket, text: '', ended: false, error: '' };
    clients.push(client);
    socket
      .setEncoding('latin1')
      .on('data', (part) => (client.text += String(part)))
      .on('end', () => (client.ended = true))
      .on('error', (error: NodeJS.ErrnoException) => (client.error = error.code ?? 'error'));
    await new Promise((resolve) => socket.once('connect', resolve));
    return client;
  }

  async function ask(client: Client, request = GET): Promise<void> {
    const before = count(client);
    client.socket.write(request);
    await until(() => count(client) > before);
  }
  const count = ({ text }: Client) => text.split('HTTP/1.1 200').length - 1;

  afterEach(async () => {
    for (const { socket } of clients.splice(0)) socket.destroy();
    await listener.close({ idleMs: 0, withinMs: 0 });
  });

  it('responds to a request on an idle connection, then closes that connection', async () => {
    await start();
    const client = await open();
    await ask(client);
    expect(client.text).not.toMatch(/connection: close/i);
    const closed = listener.close({ idleMs: LONG, withinMs: LONG });
    await until(async () => !(await accepts()), { what: 'the listener refuses connections' });
    await ask(client);
    expect(client.text).toMatch(/connection: close/i);
    await closed;
    await until(() => client.ended);
    expect(client.error).toBe('');
    expect(handled).toBe(2);
  });

  it('closes a connection that stays idle for the grace period, without a reset', async () => {
    await start();
    const client = await open();
    await ask(client);
    await listener.close({ idleMs: 100, withinMs: LONG });
    await until(() => client.ended);
    expect(client.error).toBe('');
  });

  it('responds to a request that arrived while this process was stalled for longer than the grace period', async () => {
    await start();
    const flags = new Int32Array(new SharedArrayBuffer(8));
    const client = new Worker(CLIENT_IN_THREAD, {
      eval: true,
      workerData: { flags, port: Number(new URL(listener.url).port), request: GET },
    });
    await once(client, 'message');
    const closed = listener.close({ idleMs: 300, withinMs: LONG });
    await until(async () => !(await accepts()));
    const received = once(client, 'message');
    Atomics.store(flags, 0, 1);
    Atomics.notify(flags, 0);
    Atomics.wait(flags, 1, 0);
    // The request is in the socket. The wait never ends before its timeout.
    Atomics.wait(flags, 0, 1, 600);
    const [text] = await received;
    expect(text).toMatch(/^HTTP\/1\.1 200/);
    await closed;
    await client.terminate();
  });

  it('responds on every connection that arrived while this process was stalled and before the listener closed', async () => {
    await start();
    const connections = 50;
    const flags = new Int32Array(new SharedArrayBuffer(4));
    const port = Number(new URL(listener.url).port);
    const thread = new Worker(CLIENTS_IN_THREAD, {
      eval: true,
      workerData: { flags, port, request: GET, connections },
    });
    const answered = once(thread, 'message');
    // The kernel completes the connections while this thread waits.
    expect(Atomics.wait(flags, 0, 0, 60_000)).not.toBe('timed-out');
    await listener.close({ idleMs: 100, withinMs: LONG });
    expect(await answered).toEqual([connections]);
    await thread.terminate();
  });

  it('responds to the request in flight with Connection: close', async () => {
    await start();
    const client = await open();
    client.socket.write('GET /later HTTP/1.1\r\nHost: a\r\n\r\n');
    await until(() => release.length === 1);
    const closed = listener.close({ idleMs: 0, withinMs: LONG });
    await until(async () => !(await accepts()));
    release[0]?.();
    await closed;
    await until(() => client.ended);
    expect(client.text).toMatch(/^HTTP\/1\.1 200[\s\S]*connection: close[\s\S]*later$/i);
  });

  it('waits for the rest of a request that has begun to arrive', async () => {
    await start();
    const client = await open();
    await ask(client);
    client.socket.write(GET.slice(0, 10));
    const closed = listener.close({ idleMs: 500, withinMs: LONG });
    await until(async () => !(await accepts()));
    await ask(client, GET.slice(10));
    await closed;
    expect(count(client)).toBe(2);
  });

  it('does not handle a request behind a response that closes the connection', async () => {
    await start();
    const client = await open();
    client.socket.write('GET /later HTTP/1.1\r\nHost: a\r\n\r\n');
    await until(() => release.length === 1);
    const closed = listener.close({ idleMs: 0, withinMs: LONG });
    await until(async () => !(await accepts()));
    client.socket.write(GET);
    // A second connection cannot prove the order of arrival, so the release waits for the kernel to hand the bytes over.
    await until(() => client.socket.bytesWritten > GET.length);
    release[0]?.();
    await closed;
    await until(() => client.ended);
    expect(handled).toBe(1);
    expect(count(client)).toBe(1);
  });

  it('closes the remaining connections after the deadline', async () => {
    await start();
    const client = await open();
    client.socket.write('GET /later HTTP/1.1\r\nHost: a\r\n\r\n');
    await until(() => release.length === 1);
    await listener.close({ idleMs: 0, withinMs: 50 });
    await until(() => client.socket.destroyed);
    expect(client.text).toBe('');
    release[0]?.();
  });

  function accepts(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(Number(new URL(listener.url).port), '127.0.0.1');
      socket.once('connect', () => resolve(socket.destroy() !== undefined));
      socket.once('error', () => resolve(false));
    });
  }
});
