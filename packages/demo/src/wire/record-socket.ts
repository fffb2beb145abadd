import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

import WebSocket, { WebSocketServer } from 'ws';
import type { RawData } from 'ws';

import type { Leg, WireLog } from './exchange.ts';

/** Close codes that must not be sent (RFC 6455 §7.4.1). */
const RESERVED = new Set([1005, 1006, 1015]);

/** A WebSocket proxy that records every frame. Rejected upgrades and close codes are forwarded unchanged. */
export function recordSocket(log: WireLog, target: () => string) {
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  const open = new Set<WebSocket>();
  let links = 0;

  function forward(leg: Leg, link: number, from: WebSocket, to: WebSocket): void {
    const record = (type: string, text: string): void => {
      log.add({ kind: 'frame', n: log.next(), at: Date.now(), leg, link, type, text });
    };
    from.on('message', (data, isBinary) => {
      const bytes = toBuffer(data);
      const text = bytes.toString('utf8');
      record(typeOf(text), text);
      to.send(bytes, { binary: isBinary });
    });
    from.on('ping', (data) => to.readyState === WebSocket.OPEN && to.ping(data));
    from.on('close', (code, reason) => {
      if (code !== 1006 && code !== 1005) record('close', `${code} ${reason.toString('utf8')}`);
      if (RESERVED.has(code)) to.terminate();
      else to.close(code, reason);
    });
    from.on('error', () => to.terminate());
  }

  return {
    handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
      const { authorization = '', 'sec-websocket-protocol': protocol = '' } = request.headers;
      const url = `${target().replace(/^http/, 'ws')}${request.url ?? ''}`;
      const upstream = new WebSocket(
        url,
        protocol.split(',').map((name) => name.trim()),
        { headers: { authorization }, perMessageDeflate: false },
      );
      upstream.on('error', () => socket.destroy());
      upstream.on('unexpected-response', (_request, response) => {
        socket.end(
          `HTTP/1.1 ${response.statusCode ?? 502} ${response.statusMessage ?? ''}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
        );
      });
      upstream.on('open', () => {
        server.handleUpgrade(request, socket, head, (downstream) => {
          open.add(downstream);
          downstream.on('close', () => open.delete(downstream));
          const link = ++links;
          forward('mac→service', link, downstream, upstream);
          forward('service→mac', link, upstream, downstream);
        });
      });
    },
    close(): void {
      for (const socket of open) socket.terminate();
      server.close();
    },
  };
}

function toBuffer(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}

function typeOf(text: string): string {
  try {
    const frame = JSON.parse(text) as { type?: unknown };
    return typeof frame.type === 'string' ? frame.type : 'unknown';
  } catch {
    return 'unknown';
  }
}
