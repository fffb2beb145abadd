import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';

import { closeHttp, listen } from '@footbridge/testkit/loopback';
import { undoList } from '@footbridge/testkit/undo';
import { afterEach, describe, expect, it } from 'vitest';

import { systemClock } from '../../clock.ts';
import { createTransport } from './transport.ts';

const undo = undoList();
afterEach(() => undo.run());

async function serve(handler: (request: IncomingMessage, response: ServerResponse) => void, connections = 8) {
  const server = createServer(handler);
  const port = await listen(server);
  undo.add(() => closeHttp(server));
  const transport = createTransport({ clock: systemClock, timeoutMs: 400, connections });
  undo.add(() => transport.close());
  const origin = `http://127.0.0.1:${port}`;
  const send = (path: string, more: object = {}) =>
    transport.send({ origin, method: 'PUT', path, headers: ['x-a', '1'], body: 'body', ...more });
  return { send, transport, origin };
}

describe('the transport', () => {
  it('gives status, headers and the body that is wanted', async () => {
    const { send } = await serve((request, response) => {
      response.writeHead(request.url === '/no' ? 404 : 200, { 'x-b': '2' }).end('answer');
    });
    expect(await send('/yes', { wantsBody: true })).toMatchObject({ status: 200, text: 'answer' });
    const unread = await send('/yes');
    expect(unread).toMatchObject({ status: 200, text: '' });
    expect('headers' in unread && unread.headers.get('x-b')).toBe('2');
    expect(await send('/no')).toMatchObject({ status: 404, text: 'answer' });
  });

  it('follows no redirect', async () => {
    const paths: string[] = [];
    const { send } = await serve((request, response) => {
      paths.push(request.url ?? '');
      response.writeHead(302, { location: '/elsewhere' }).end();
    });
    expect(await send('/here')).toMatchObject({ status: 302 });
    expect(paths).toEqual(['/here']);
  });

  it('keeps connections open', async () => {
    const sockets = new Set<unknown>();
    const { send } = await serve((request, response) => {
      sockets.add(request.socket);
      response.end();
    });
    for (let index = 0; index < 10; index++) await send('/');
    // The next call may begin while the connection of the last is still being put back.
    expect(sockets.size).toBeLessThanOrEqual(2);
  });

  it('ends an exchange at its deadline, wherever it hangs', async () => {
    const { send } = await serve((request, response) => {
      if (request.url === '/body') response.writeHead(200).write('half');
    });
    for (const path of ['/headers', '/body']) {
      const began = performance.now();
      expect(await send(path, { wantsBody: true })).toEqual({ status: 0, reason: 'timeout', sent: true });
      expect(performance.now() - began).toBeLessThan(1500);
    }
    expect(await send('/headers', { timeoutMs: 50 })).toMatchObject({ reason: 'timeout' });
  });

  it('never writes what expired while it waited for a connection', async () => {
    const seen: string[] = [];
    const { send } = await serve((request) => void seen.push(request.url ?? ''), 1);
    const [first, second] = await Promise.all([send('/first'), send('/second')]);
    expect(first).toMatchObject({ reason: 'timeout', sent: true });
    expect(second).toMatchObject({ reason: 'timeout', sent: false });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(seen).toEqual(['/first']);
  });

  it('tells a broken connection from one that never was', async () => {
    const { send, transport } = await serve((request) => request.socket.destroy());
    expect(await send('/')).toEqual({ status: 0, reason: 'network', sent: true });
    const nobody = { origin: 'http://127.0.0.1:1', method: 'GET', path: '/', headers: [] } as const;
    expect(await transport.send({ ...nobody, headers: [] })).toEqual({
      status: 0,
      reason: 'network',
      sent: false,
    });
  });

  it('does not swallow endless answers', async () => {
    const { send } = await serve((_request, response) => {
      response.writeHead(500);
      for (let index = 0; index < 400; index++) response.write('x'.repeat(1024));
      response.end();
    });
    expect(await send('/')).toMatchObject({ status: 0, reason: 'answer_too_large' });
  });

  it('takes an endless answer nobody wants for what its status says, and reads no more of it', async () => {
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

  it('ends what is under way when it closes', async () => {
    const { send, transport } = await serve(() => {});
    const under = send('/');
    await new Promise((resolve) => setTimeout(resolve, 50));
    await transport.close();
    expect(await under).toMatchObject({ status: 0, reason: 'network' });
    expect(await send('/')).toMatchObject({ status: 0, reason: 'network', sent: false });
  });
});
