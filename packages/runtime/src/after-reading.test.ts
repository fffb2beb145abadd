import { once } from 'node:events';
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';

import { afterReading } from './after-reading.ts';

const SERVER = `
  const { parentPort } = require('node:worker_threads');
  const server = require('node:net').createServer((socket) => socket.on('data', (data) => socket.write(data)));
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

it('runs a task after the data that arrived during a stall of this process', async () => {
  const server = new Worker(SERVER, { eval: true });
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
    }, 50);
  });
  client.write('x');
  stall(500);
  await done;

  expect(order).toEqual(['deadline', 'data', 'task']);
  client.destroy();
  await server.terminate();
});

function stall(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
