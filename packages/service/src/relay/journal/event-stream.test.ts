import { createServer } from 'node:http';
import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { FakeClock } from '@footbridge/testkit/fake-clock';
import { closeHttp, listen } from '@footbridge/testkit/loopback';
import { afterEach, expect, it } from 'vitest';

import { EventStream } from './event-stream.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

it('T46 writes nothing after the end of a response that its client has not read', async () => {
  const errors: unknown[] = [];
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const server = createServer((_request, response) => {
    response.on('error', (error) => errors.push(error));
    // More than the buffers of the connection hold.
    response.write('x'.repeat(20_000_000));
    const stream = new EventStream(response, new FakeClock());
    stream.send(': alive\n\n');
    response.end();
    resolve();
  });
  cleanup.add(() => closeHttp(server));
  const port = await listen(server);
  const client = connect(port, '127.0.0.1').pause();
  cleanup.add(() => client.destroy());
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await ended;
  await nextTurn();
  await nextTurn();
  expect(errors).toEqual([]);
});
