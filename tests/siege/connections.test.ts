import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, expect, it } from 'vitest';

import { TestBridge } from '../contract/test-bridge.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

/** Keeps its side of the connection open when the service closes the other one. */
function openHalf(url: string, bytes: string): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  cleanup.add(() => socket.destroy());
  socket.on('error', () => undefined).write(bytes);
  return socket.resume();
}

it.each([
  ['without the subprotocol', 'GET /mac/socket', '', 426],
  ['with a wrong token', 'GET /mac/socket', 'Sec-WebSocket-Protocol: footbridge.v1\r\n', 401],
  ['of another path', 'GET /nothing', '', 400],
])(
  'T29 closes the connection of a rejected upgrade %s, although the client does not',
  async (_what, line, more, status) => {
    const bridge = await TestBridge.start();
    cleanup.add(() => bridge.stop());
    const upgrade = `${line} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n${more}\r\n`;
    const socket = openHalf(bridge.url, upgrade);
    const [head] = (await once(socket, 'data')) as [Buffer];
    expect(head.toString()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    await once(socket, 'end');
    // A closed connection responds to further bytes with a reset.
    await until(() => {
      if (!socket.destroyed) socket.write('x');
      return socket.destroyed;
    });
  },
);

it.each([
  ['a webhook that offers HTTP/2', 'POST /crm/webhook', 'h2c', '{}', 401],
  ['a WebSocket handshake', 'GET /mac/socket', 'websocket', '', 426],
  ['a handshake of the operator listener', 'GET /operator/devices', 'websocket', '', 401],
])('T27 handles %s with a body like any other request', async (_what, line, protocol, body, status) => {
  const bridge = await TestBridge.start();
  cleanup.add(() => bridge.stop());
  const request = `${line} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\nContent-Length: 2\r\n\r\n${body}`;
  const socket = openHalf(line.includes('operator') ? bridge.bridge.operatorUrl : bridge.url, request);
  const [head] = (await once(socket, 'data')) as [Buffer];
  expect(head.toString()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
});
