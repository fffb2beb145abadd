// A server with only the ws library: it accepts every socket, sends `registered` and pings. This is the minimal cost of a socket.
import { once } from 'node:events';
import { createServer } from 'node:http';

import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';

import { clock, serveServer } from './process-report.ts';

const HEARTBEAT_MS = 15_000;
const TICK_MS = 100;

const server = createServer();
const sockets = new Set<WebSocket>();
const wss = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  handleProtocols: () => 'footbridge.v1',
});

server.on('upgrade', (request, stream, head) => {
  wss.handleUpgrade(request, stream, head, (socket) => {
    sockets.add(socket);
    socket.on('message', onMessage);
    socket.on('close', onClose);
  });
});

function onMessage(this: WebSocket): void {
  this.send('{"type":"registered","locationId":"loc","sessionId":"s","window":64}');
}

function onClose(this: WebSocket): void {
  sockets.delete(this);
}

let round: Iterator<WebSocket> = sockets.values();
clock.after(TICK_MS, function tick() {
  clock.after(TICK_MS, tick);
  for (let left = Math.round((sockets.size * TICK_MS) / HEARTBEAT_MS); left > 0; left--) {
    let next = round.next();
    if (next.done === true) {
      round = sockets.values();
      next = round.next();
    }
    if (next.done !== true) next.value.ping();
  }
});

serveServer({
  async open() {
    server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 });
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return { url: `http://127.0.0.1:${port}`, operatorUrl: '', operatorToken: '' };
  },
  close: () => Promise.resolve(void server.close()),
});
