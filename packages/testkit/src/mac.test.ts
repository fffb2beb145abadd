import { createServer } from 'node:http';
import { SUBPROTOCOL } from '@footbridge/protocol/frames';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { closeHttp, listen } from './loopback.ts';
import { activate, connectMac, joinMac, SocketClosedError, UpgradeError } from './mac.ts';
import { createCleanup } from './cleanup.ts';
import { until } from './until.ts';

/** A minimal service, scripted by the tests. */
const cleanup = createCleanup();
let url = '';
let seen: Record<string, unknown>[] = [];
let onFrame: (frame: Record<string, unknown>, socket: WebSocket) => void;
let sockets: WebSocket[] = [];

beforeEach(async () => {
  seen = [];
  sockets = [];
  onFrame = (frame, socket) => {
    if (frame['type'] === 'register')
      say(socket, { type: 'registered', locationId: 'LocA', sessionId: 's1', window: 64 });
    else if ('seq' in frame) say(socket, { type: 'ack', seq: frame['seq'], outcome: 'delivered' });
  };
  const http = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body: Record<string, unknown> = JSON.parse(Buffer.concat(parts).toString());
      seen.push(body);
      const good = body['licenseKey'] === 'good';
      response
        .writeHead(good ? 201 : 403, { 'Content-Type': 'application/json' })
        .end(
          JSON.stringify(
            good ? { deviceToken: 'token', seats: { used: 1, max: 1 } } : { code: 'LICENSE_INVALID' },
          ),
        );
    });
  });
  const server = new WebSocketServer({ noServer: true, handleProtocols: () => SUBPROTOCOL });
  http.on('upgrade', (request, socket, head) => {
    if (request.headers.authorization !== 'Bearer token') {
      socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbad');
      return;
    }
    server.handleUpgrade(request, socket, head, (opened) => {
      sockets.push(opened);
      opened.on('message', (data: Buffer) => {
        const frame: Record<string, unknown> = JSON.parse(data.toString());
        seen.push(frame);
        onFrame(frame, opened);
      });
    });
  });
  cleanup.add(async () => {
    for (const socket of sockets) socket.terminate();
    await closeHttp(http);
  });
  url = `http://127.0.0.1:${await listen(http)}`;
});
afterEach(() => cleanup.run());

const say = (socket: WebSocket | undefined, frame: object) => socket?.send(JSON.stringify(frame));
const SEND = {
  type: 'send',
  contactId: 'c',
  phone: '+15550001111',
  message: 'hi',
  attachments: [],
  channel: 'imessage',
};

describe('enrolment', () => {
  it('activates with a generated device id', async () => {
    const activated = await activate(url, { licenseKey: 'good' });
    expect(activated).toMatchObject({ status: 201, deviceToken: 'token' });
    expect(seen[0]).toMatchObject({ licenseKey: 'good', deviceId: activated.deviceId, osVersion: '26.1' });
  });

  it('reports a rejected activation', async () => {
    expect(await activate(url, { licenseKey: 'bad' })).toMatchObject({
      status: 403,
      body: { code: 'LICENSE_INVALID' },
      deviceToken: undefined,
    });
    await expect(joinMac(url, { licenseKey: 'bad', locationId: 'LocA' })).rejects.toThrow('LICENSE_INVALID');
  });

  it('reports the status of a rejected upgrade', async () => {
    const rejection = await connectMac(url, { token: 'wrong' }).catch((error: unknown) => error);
    expect(rejection).toBeInstanceOf(UpgradeError);
    expect(rejection).toMatchObject({ status: 401, body: 'bad' });
  });

  it('reports a service that is not running', async () => {
    await expect(connectMac('http://127.0.0.1:9', { token: 'x' })).rejects.toThrow('ECONNREFUSED');
  });
});

describe('a session', () => {
  it('registers and numbers its frames', async () => {
    const mac = await joinMac(url, { licenseKey: 'good', locationId: 'LocA' });
    const first = mac.received({ sender: '+15550001111', text: 'hello' });
    const second = mac.status({ requestId: 'r1', messageId: 'm1', status: 'delivered' });
    expect([first, second, mac.seq]).toEqual([1, 2, 3]);
    expect(await mac.ack(second)).toMatchObject({ seq: 2, outcome: 'delivered' });
    expect(await mac.ack(first)).toMatchObject({ seq: 1 });
    expect(seen.slice(-2)).toMatchObject([
      { type: 'message_received', seq: 1, text: 'hello', chat: { isGroup: false } },
      { type: 'message_status', seq: 2, requestId: 'r1' },
    ]);
    await mac.close();
  });

  it('returns each frame once by type and records all of them', async () => {
    const mac = await joinMac(url, { licenseKey: 'good', locationId: 'LocA' });
    say(sockets[0], { ...SEND, requestId: 'r1', messageId: 'm1' });
    say(sockets[0], { type: 'ack', seq: 9, outcome: 'skipped' });
    say(sockets[0], { ...SEND, requestId: 'r2', messageId: null });
    say(sockets[0], { type: 'surprise' });
    expect((await mac.nextFrame('send')).requestId).toBe('r1');
    expect((await mac.nextFrame('send')).requestId).toBe('r2');
    await expect(mac.nextFrame('send', 30)).rejects.toThrow('No send from the service within 30 ms');
    await expect(mac.noFrame('ack', 20)).rejects.toThrow('Unexpected');
    await mac.noFrame('redeliver', 20);
    expect(mac.frames.map(({ type }) => type)).toEqual(['registered', 'send', 'ack', 'send']);
    expect(mac.unknownFrames).toEqual(['{"type":"surprise"}']);
    await mac.close();
  });

  it('reports every send as delivered after deliverAll', async () => {
    const mac = await joinMac(url, { licenseKey: 'good', locationId: 'LocA' });
    mac.deliverAll();
    say(sockets[0], { ...SEND, requestId: 'r1', messageId: 'm1' });
    await mac.ack(1);
    expect(seen.at(-1)).toMatchObject({
      type: 'message_status',
      requestId: 'r1',
      messageId: 'm1',
      status: 'delivered',
    });
    await mac.close();
  });

  it('reports the close code, also to pending calls', async () => {
    onFrame = (_, socket) => socket.close(4504, 'elsewhere');
    const mac = await connectMac(url, { token: 'token' });
    const rejection = await mac.register('LocA').catch((error: unknown) => error);
    expect(rejection).toBeInstanceOf(SocketClosedError);
    expect(rejection).toMatchObject({ code: 4504, reason: 'elsewhere' });
    expect(await mac.closed).toEqual({ code: 4504, reason: 'elsewhere' });
    expect(mac.isOpen).toBe(false);
  });

  it('can leave pings unanswered and stop reading', async () => {
    const [responsive, silent] = await Promise.all([
      connectMac(url, { token: 'token' }),
      connectMac(url, { token: 'token', answerPings: false }),
    ]);
    let pongs = 0;
    for (const socket of sockets) {
      socket.on('pong', () => pongs++);
      socket.ping();
    }
    await until(() => responsive.pings + silent.pings === 2);
    await until(() => pongs === 1);
    responsive.pauseReading();
    for (const socket of sockets) say(socket, { type: 'ack', seq: 1, outcome: 'delivered' });
    await expect(responsive.ack(1, 50)).rejects.toThrow('No ack of 1');
    responsive.resumeReading();
    await responsive.ack(1);
    responsive.terminate();
    silent.terminate();
  });

  it('disconnects without a close frame on terminate', async () => {
    const mac = await connectMac(url, { token: 'token' });
    const closed = new Promise((resolve) => sockets[0]?.once('close', resolve));
    mac.terminate();
    expect(await closed).toBe(1006);
  });

  it('roundTrip resolves once the frames before it have arrived, and rejects when the socket is closed', async () => {
    const mac = await joinMac(url, { licenseKey: 'good', locationId: 'LocA' });
    const [socket] = sockets;
    for (let seq = 1; seq <= 3; seq++) say(socket, { type: 'ack', seq, outcome: 'delivered' });
    await mac.roundTrip();
    expect(mac.frames).toHaveLength(4);
    socket?.pause();
    const pending = mac.roundTrip();
    mac.terminate();
    await expect(pending).rejects.toThrow('waiting for a pong');
  });
});
