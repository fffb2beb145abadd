import { once } from 'node:events';
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';

import { afterReading } from './after-reading.ts';

const DEADLINE_MS = 50;
const SERVER = `
  const { parentPort, workerData: echoed } = require('node:worker_threads');
  const server = require('node:net').createServer((socket) =>
    socket.on('data', (data) => {
      socket.write(data);
      Atomics.store(echoed, 0, 1);
      Atomics.notify(echoed, 0);
    }),
  );
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

it('runs a task after the data that arrived during a stall of this process', async () => {
  const echoed = new Int32Array(new SharedArrayBuffer(4));
  const server = new Worker(SERVER, { eval: true, workerData: echoed });
  const [port] = (await once(server, 'message')) as [number];
  const client = connect(port, '127.0.0.1');
  await once(client, 'connect');

  const order: string[] = [];
  client.on('data', () => order.push('data'));
  const done = new Promise<void>((resolve) => {
    setTimeout(() => {
      order.push('deadline');
      afterReading(() => {
        order.push('task');
        resolve();
      });
    }, DEADLINE_MS);
  });
  client.write('x');
  stallUntil(echoed);
  await done;

  expect(order).toEqual(['deadline', 'data', 'task']);
  client.destroy();
  await server.terminate();
});

/** Blocks this process until the server has sent the data back and the deadline has passed. */
function stallUntil(echoed: Int32Array): void {
  Atomics.wait(echoed, 0, 0, 30_000);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * DEADLINE_MS);
}
