import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer as createTcpServer } from 'node:net';
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { TLSSocket } from 'node:tls';

import { listen } from '@footbridge/testkit/loopback';
import { undoList } from '@footbridge/testkit/undo';
import { until } from '@footbridge/testkit/until';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';

import { systemClock } from '../../clock.ts';
import { Connection } from './connection.ts';
import type { Destination } from './connection.ts';
import { createTransport } from './transport.ts';
import type { Outgoing } from './transport.ts';

const undo = undoList();
afterEach(() => undo.run());

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const NEVER_LEFT = { status: 0, reason: 'network', sent: false };

function der(tag: number, ...parts: (Buffer | string)[]): Buffer {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part as string, 'hex')));
  const length = content.length < 128 ? [content.length] : [0x82, content.length >> 8, content.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

/** A certificate that signs itself, for one DNS name. */
function certificateFor(name: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = der(0x30, '06082a8648ce3d040302');
  const subject = der(0x30, der(0x31, der(0x30, '0603550403', der(0x0c, Buffer.from(name)))));
  const life = der(0x30, der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('491231235959Z')));
  const names = der(0x30, '0603551d11', der(0x04, der(0x30, der(0x82, Buffer.from(name)))));
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const body = der(
    0x30,
    'a003020102',
    '020101',
    ecdsaWithSha256,
    subject,
    life,
    subject,
    spki,
    der(0xa3, der(0x30, names)),
  );
  const whole = der(0x30, body, ecdsaWithSha256, der(0x03, '00', sign('sha256', body, privateKey)));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    cert: `-----BEGIN CERTIFICATE-----\n${whole.toString('base64')}\n-----END CERTIFICATE-----\n`,
  };
}

const ours = certificateFor('localhost');
const strangers = certificateFor('localhost');

beforeAll(() => {
  const usual = getCACertificates('default');
  setDefaultCACertificates([...usual, ours.cert]);
  return () => setDefaultCACertificates(usual);
});

type Version = 'TLSv1.2' | 'TLSv1.3';

async function serve(
  answer: (socket: TLSSocket) => void,
  more: { version?: Version; connections?: number; trusted?: boolean } = {},
) {
  const { version = 'TLSv1.3', connections = 8, trusted = true } = more;
  const sockets: TLSSocket[] = [];
  const requests: string[] = [];
  const reused: boolean[] = [];
  const server = createServer(
    {
      ...(trusted ? ours : strangers),
      ALPNProtocols: ['h2', 'http/1.1'],
      minVersion: version,
      maxVersion: version,
    },
    (socket) => {
      sockets.push(socket);
      reused.push(socket.isSessionReused());
      socket
        .on('error', () => {})
        .on('data', (bytes) => {
          requests.push(String(bytes));
          answer(socket);
        });
    },
  ).on('tlsClientError', () => {});
  const port = await listen(server);
  undo.add(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  const transport = createTransport({ clock: systemClock, timeoutMs: 1000, connections });
  undo.add(() => transport.close());
  const send = (origin = `https://localhost:${port}`) =>
    transport.send({ origin, method: 'POST', path: '/', headers: [], body: 'x', wantsBody: true });
  return { send, sockets, requests, reused, port, transport };
}

describe.each(['TLSv1.2', 'TLSv1.3'] as const)('over %s', (version) => {
  it('calls a server that proves its name, and keeps the connection', async () => {
    const { send, sockets } = await serve((socket) => socket.write(OK), { version });
    for (let index = 0; index < 5; index++) expect(await send()).toMatchObject({ status: 200, text: 'ok' });
    expect(sockets).toHaveLength(1);
    expect(sockets[0]).toMatchObject({ alpnProtocol: 'http/1.1', servername: 'localhost' });
  });

  it('takes up the session of an earlier connection', async () => {
    const closing = OK.replace('\r\n', '\r\nConnection: close\r\n');
    const { send, reused } = await serve((socket) => socket.write(closing), { version });
    for (let index = 0; index < 3; index++) expect(await send()).toMatchObject({ status: 200 });
    expect(reused).toEqual([false, true, true]);
  });

  it('sends nothing to a server of another name, no matter how often it is tried', async () => {
    const { send, requests, port } = await serve((socket) => socket.write(OK), { version });
    for (let index = 0; index < 3; index++)
      expect(await send(`https://127.0.0.1:${port}`)).toEqual(NEVER_LEFT);
    expect(requests).toEqual([]);
  });

  it('sends nothing to a server that nobody vouches for', async () => {
    const { send, requests } = await serve((socket) => socket.write(OK), { version, trusted: false });
    for (let index = 0; index < 3; index++) expect(await send()).toEqual(NEVER_LEFT);
    expect(requests).toEqual([]);
  });

  it('takes nothing that came behind an answer for the next one, though it is a record of its own', async () => {
    // As many bytes as one record holds.
    const padded = OK.replace('\r\n', `\r\nX: ${'y'.repeat(16_384 - OK.length - 5)}\r\n`);
    const both = padded + OK.replace(/ok$/, 'no');
    const { send, sockets } = await serve((socket) => socket.write(both), { version, connections: 1 });
    const answers = await Promise.all(Array.from({ length: 10 }, () => send()));
    expect(answers.map((one) => 'text' in one && one.text)).toEqual(answers.map(() => 'ok'));
    for (let index = 0; index < 10; index++) expect(await send()).toMatchObject({ text: 'ok' });
    expect(sockets).toHaveLength(20);
  });

  it('carries bytes as they are, in both directions', async () => {
    const big = Buffer.from('ü€😀'.repeat(20_000));
    const { transport, port, requests } = await serve(
      (socket) => {
        if (Buffer.byteLength(requests.join('')) < big.length) return;
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${big.length}\r\n\r\n`);
        socket.write(big);
      },
      { version },
    );
    const request: Outgoing = {
      origin: `https://localhost:${port}`,
      method: 'POST',
      path: '/',
      headers: [],
      body: big,
      wantsBody: true,
    };
    expect(await transport.send(request)).toMatchObject({ status: 200, text: String(big) });
  });
});

describe('a handshake', () => {
  it('that never ends is given up at the deadline, or when the transport closes', async () => {
    const server = createTcpServer((socket) => void socket.on('error', () => {}).resume());
    const port = await listen(server);
    undo.add(() => new Promise((resolve) => server.close(resolve)));
    const transport = createTransport({ clock: systemClock, connections: 1 });
    const send = (timeoutMs: number) =>
      transport.send({
        origin: `https://localhost:${port}`,
        method: 'GET',
        path: '/',
        headers: [],
        timeoutMs,
      });
    expect(await send(50)).toEqual({ status: 0, reason: 'timeout', sent: false });
    const hanging = [send(5000), send(5000)];
    await until(
      () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count))),
    );
    await Promise.all([transport.close(), transport.close()]);
    expect(await Promise.all(hanging)).toEqual([NEVER_LEFT, NEVER_LEFT]);
    await transport.close();
  });

  it('with somebody who does not speak TLS fails', async () => {
    const server = createTcpServer(
      (socket) =>
        void socket
          .on('error', () => {})
          .resume()
          .end(OK),
    );
    const port = await listen(server);
    undo.add(() => new Promise((resolve) => server.close(resolve)));
    const transport = createTransport({ clock: systemClock });
    undo.add(() => transport.close());
    const request = { origin: `https://localhost:${port}`, method: 'GET', path: '/', headers: [] } as const;
    expect(await transport.send(request)).toEqual(NEVER_LEFT);
  });

  it('that failed takes its session with it', async () => {
    const destination: Destination = {
      host: '127.0.0.1',
      port: 1,
      isSecure: true,
      session: Buffer.from('stale'),
    };
    await new Promise<void>((resolve) => {
      void new Connection(destination, { freed: () => {}, ended: () => resolve() });
    });
    expect(destination.session).toBeUndefined();
  });
});
