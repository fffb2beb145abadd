import { createServer } from 'node:net';
import type { Socket } from 'node:net';

import { systemClock } from '@footbridge/runtime/clock';
import { listen } from '@footbridge/testkit/loopback';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, describe, expect, it } from 'vitest';

import { createTransport } from './transport-http.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

/** A server that sends the next of `responses` for each request, `step` bytes at a time, and the transport that calls it. */
async function serve(responses: readonly string[], step = Number.MAX_SAFE_INTEGER) {
  const sockets = new Set<Socket>();
  const next = responses[Symbol.iterator]();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('data', () => drip(socket, next.next().value ?? ''));
  });
  const drip = (socket: Socket, rest: string) => {
    if (rest === '' || socket.destroyed) return;
    socket.write(rest.slice(0, step), 'latin1');
    setImmediate(drip, socket, rest.slice(step));
  };
  const port = await listen(server);
  const transport = createTransport({ clock: systemClock, timeoutMs: 20_000 });
  cleanup.add(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  cleanup.add(() => transport.close());
  const origin = `http://127.0.0.1:${port}`;
  return () => transport.send({ origin, method: 'POST', path: '/', headers: [], body: 'x', wantsBody: true });
}

const head = (...lines: string[]) => ['HTTP/1.1 200 OK', ...lines, '', ''].join('\r\n');
const CHUNKED = head('Transfer-Encoding: chunked');
const NO_BODY = 'Content-Length: 0';
const each = (spellings: string, inside: (one: string) => string) => spellings.split('|').map(inside);

describe('a malformed response counts as no response', () => {
  const table: Record<string, string[]> = {
    'both a length and a transfer coding': [
      `${head('Content-Length: 3', 'Transfer-Encoding: chunked')}3\r\nabc\r\n0\r\n\r\n`,
      head('Transfer-Encoding: chunked', 'Content-Length: 3').replace('200 OK', '204 No Content'),
    ],
    'two lengths': [
      `${head('Content-Length: 3', 'content-length: 3')}abc`,
      `${head('Content-Length: 3', 'X: 1', 'Content-Length: 4')}abcd`,
    ],
    'two transfer codings': [`${head('Transfer-Encoding: chunked', 'transfer-encoding: chunked')}0\r\n\r\n`],
    'an unknown transfer coding': each(
      'gzip, chunked|chunked, chunked|identity|xchunked|chunked;a=b||"chunked"|\xa0chunked|\x0bchunked',
      (coding) => `${head(`Transfer-Encoding: ${coding}`)}0\r\n\r\n`,
    ),
    'an invalid length': each(
      '-1|+3|0x3|3.0|3e0||3 3|3, 3|3;|99999999999999999999|\xa03|\x0c3|3\0',
      (length) => `${head(`Content-Length: ${length}`)}abc`,
    ),
    'an invalid chunk size': each(
      '|g|-3|+3|0x3| 3|3.|3 3|100000000000000003|3;\0|3;\rx|3;\nx|3\n|\xa03',
      (size) => `${CHUNKED}${size}\r\nabc\r\n0\r\n\r\n`,
    ),
    'no line break after a chunk': each('|x|\n|\r|\rx|d\r\n', (end) => `${CHUNKED}3\r\nabc${end}0\r\n\r\n`),
    'an invalid status line': each(
      'HTTP/1.1 200OK|HTTP/1.1  200 OK|HTTP/2 200 OK|HTTP/1.2 200 OK|http/1.1 200 OK|HTTP/1.1 20 OK|HTTP/1.1 2000 OK|' +
        'HTTP/1.1 600 OK|HTTP/1.1 099 OK|HTTP/1.1\t200 OK| HTTP/1.1 200 OK|' +
        'HTTP/1.1 200 O\rK|HTTP/1.1 200 O\nK: 1|ICY 200 OK|HTTP/1.1 101 Switching Protocols|SSH-2.0-x',
      (line) => `${line}\r\n${NO_BODY}\r\n\r\n`,
    ),
    'bare line feeds': [
      `HTTP/1.1 200 OK\n${NO_BODY}\n\n`,
      `${head('X: a\nContent-Length: 3')}abc`,
      `${head('Content-Length: 3\nX: a')}abc`,
      `${CHUNKED}3\nabc\r\n0\r\n\r\n`,
      `${CHUNKED}0\r\nX: 1\n\r\n\r\n`,
      `${CHUNKED}0\r\n\n\r\n`,
    ],
    'control characters': each('\r|\0|\x01|\x0b|\x7f', (control) => `X: a${control}b`).flatMap((line) => [
      head(line, NO_BODY),
      head(line.replace(': ', ''), NO_BODY),
      `${CHUNKED}0\r\n${line}\r\n\r\n`,
    ]),
    'folded header lines': [
      `${head('Content-Length:', ' 3')}abc`,
      head('X: a', '\tContent-Length: 3', NO_BODY),
      `${head('Transfer-Encoding:', ' chunked')}0\r\n\r\n`,
      head(' Content-Length: 3', NO_BODY),
      `${CHUNKED}0\r\nX: 1\r\n folded\r\n\r\n`,
    ],
    'invalid header names': each(
      'Content-Length : 3|Content-Length\t: 3|Transfer-Encoding : chunked|Content Length: 3|: 3|nothing|L\xe9ngth: 3',
      (line) => head(line, NO_BODY),
    ),
    'an invalid header name in an interim response': [
      `HTTP/1.1 100 Continue\r\nX : 1\r\n\r\n${head(NO_BODY)}`,
    ],
    'too many header bytes': [
      head(`X: ${'y'.repeat(70_000)}`, NO_BODY),
      head(...Array.from({ length: 12_000 }, (_line, index) => `X${index}: 1`), NO_BODY),
    ],
    'too many interim responses': [`${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(4000)}${head(NO_BODY)}`],
    'too many trailer bytes': [
      `${CHUNKED}0\r\n${'X: 1234\r\n'.repeat(20_000)}\r\n`,
      `${CHUNKED}0\r\nX: ${'y'.repeat(70_000)}\r\n\r\n`,
    ],
  };

  it.each(Object.entries(table))('%s', async (_what, responses) => {
    for (const response of responses) {
      const steps = response.length > 1000 ? [response.length] : [response.length, 1];
      for (const step of steps) {
        const send = await serve([response], step);
        expect
          .soft(await send(), JSON.stringify(response.slice(0, 120)))
          .toMatchObject({ status: 0, reason: 'network', sent: true });
      }
      await cleanup.run();
    }
  });
});

describe('a response that is read leniently', () => {
  const FORGED = `${head('Content-Length: 6')}forged`;
  const OK = `${head('Content-Length: 2')}ok`;

  it.each([
    ['a line break before the status line', `\r\n${OK}`],
    ['a NUL in the reason phrase', OK.replace('OK', 'O\0K')],
    ['a long chunk extension', `${CHUNKED}2;${'y'.repeat(5000)}\r\nok\r\n0\r\n\r\n`],
  ])('bytes behind a response are not read as the next response: %s', async (_what, response) => {
    const send = await serve([response + FORGED, OK, OK]);
    for (let calls = 0; calls < 3; calls++) expect(await send()).toMatchObject({ status: 200, text: 'ok' });
  });
});
