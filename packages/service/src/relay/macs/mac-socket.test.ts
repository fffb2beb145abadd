import { once } from 'node:events';
import { createServer } from 'node:http';

import { createCleanup } from '@footbridge/testkit/cleanup';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';

import { SUBPROTOCOL } from '@footbridge/protocol/frames';

import { createSocketServer } from './mac-socket.ts';
import type { MacSocket } from './mac-socket.ts';

describe('text frames to a Mac', () => {
  const cleanup = createCleanup();
  let here: MacSocket;
  let there: WebSocket;

  beforeAll(async () => {
    const sockets = createSocketServer();
    const server = createServer().listen(0, '127.0.0.1');
    cleanup.add(() => new Promise((resolve) => server.close(resolve)));
    await once(server, 'listening');
    const bound = new Promise<MacSocket>((resolve) => {
      server.on('upgrade', (request, stream, head) =>
        sockets.handleUpgrade(request, stream, head, (socket) => {
          socket.belongTo({ heard() {}, answered() {}, pinged() {}, ended() {} }, stream);
          resolve(socket);
        }),
      );
    });
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    there = new WebSocket(`ws://127.0.0.1:${port}`, SUBPROTOCOL);
    cleanup.add(() => there.terminate());
    [here] = await Promise.all([bound, once(there, 'open')]);
  });
  afterAll(() => cleanup.run());

  async function passed(text: string): Promise<unknown> {
    const next = once(there, 'message');
    here.sendText(text);
    const [data, isBinary]: unknown[] = await next;
    return isBinary === false && Buffer.isBuffer(data) ? data.toString() : undefined;
  }

  it('arrive intact with every encoding of the length', async () => {
    for (const length of [0, 1, 125, 126, 127, 65_535, 65_536, 200_000]) {
      const text = 'x'.repeat(length);
      expect(await passed(text)).toBe(text);
    }
  });

  it('arrive intact in any script', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 300 }), async (text) => {
        expect(await passed(text)).toBe(text);
      }),
      { numRuns: 100 },
    );
  });

  it('keep their order among frames that the library sends', async () => {
    const heard: string[] = [];
    there.on('ping', () => heard.push('ping'));
    there.on('message', (data) => heard.push(Buffer.isBuffer(data) ? data.toString() : ''));
    here.sendText('one');
    here.ping();
    here.sendText('two');
    here.close(1001, 'over');
    const [code] = (await once(there, 'close')) as [number];
    expect([...heard, code]).toEqual(['one', 'ping', 'two', 1001]);
  });
});
