import { once } from 'node:events';
import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:net';

import { listen } from '@footbridge/testkit/loopback';
import { undoList } from '@footbridge/testkit/undo';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';

import { AnswerReader } from './answer-reader.ts';

const undo = undoList();
afterEach(() => undo.run());

/** As connections do it: all bytes come through one place, where the next ones overwrite them. */
const SHARED = Buffer.alloc(1 << 20);

function read(bytes: Buffer, cuts: readonly number[] = [], wantsBody = true, reader = new AnswerReader()) {
  reader.begin(wantsBody);
  let progress: ReturnType<AnswerReader['push']> = 'more';
  let from = 0;
  for (const to of [...cuts, bytes.length]) {
    if (progress !== 'more' || to <= from || to > bytes.length) continue;
    bytes.copy(SHARED, 0, from, to);
    progress = reader.push(SHARED.subarray(0, to - from));
    SHARED.fill(0x0d, 0, to - from);
    from = to;
  }
  const ended = progress === 'more' ? reader.end() : progress;
  return { progress, ended, reader };
}

const everyByte = (bytes: Buffer) => Array.from(bytes, (_byte, index) => index);

// What an answer may look like, and what it means.

const pick = <T>(...values: T[]) => fc.constantFrom(...values);
const casing = (name: string) =>
  pick(
    name,
    name.toUpperCase(),
    name.replace(/\b[a-z]/g, (c) => c.toUpperCase()),
  );
const space = pick('', ' ', '\t', '  \t ');
const lineOf = (name: string, value: string) =>
  fc
    .tuple(casing(name), space, space)
    .map(([spelled, before, after]) => `${spelled}:${before}${value}${after}`);

const body = fc.oneof(
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => Buffer.from(text)),
  pick('\r\n\r\n', 'HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n', '0\r\n\r\n').map((text) =>
    Buffer.from(text),
  ),
);

const extra = fc
  .tuple(
    fc.stringMatching(/^x-[a-z0-9!#$%&'*+.^_`|~-]{0,9}$/),
    fc.stringMatching(/^([!-~](\t?[ -~\xa0-\xff]{0,12}[!-~])?)?$/),
  )
  .chain(([name, value]) => lineOf(name, value).map((line) => ({ line, name, value })));

const rest = fc.oneof(
  pick({ lines: [''], ms: 30_000 }),
  lineOf('connection', 'keep-alive').map((line) => ({ lines: [line], ms: 30_000 })),
  lineOf('connection', 'Close').map((line) => ({ lines: [line], ms: 0 })),
  pick(
    { lines: ['Connection: keep-alive', 'connection: close'], ms: 0 },
    { lines: ['connection: foo, close , bar'], ms: 0 },
  ),
  fc.nat(40).chain((seconds) =>
    lineOf('keep-alive', `timeout=${seconds}, max=9`).map((line) => ({
      lines: ['Connection: keep-alive', line],
      ms: Math.min(30_000, Math.max(0, seconds * 1000 - 2000)),
    })),
  ),
);

function chunked(bytes: Buffer, at: readonly number[], extension: string, trailers: string): Buffer {
  const edges = [0, ...at.filter((one) => one < bytes.length).toSorted((a, b) => a - b), bytes.length];
  const written = edges.slice(1).flatMap((to, index) => {
    const chunk = bytes.subarray(edges[index], to);
    const size = `${chunk.length.toString(16)}${extension}\r\n`;
    return chunk.length === 0 ? [] : [Buffer.from(size), chunk, Buffer.from('\r\n')];
  });
  return Buffer.concat([...written, Buffer.from(`0${extension}\r\n${trailers}\r\n`)]);
}

const framed = body.chain((bytes) =>
  fc.oneof(
    lineOf('content-length', String(bytes.length)).map((line) => ({
      kind: 'sized',
      line,
      wire: bytes,
      bytes,
    })),
    fc
      .tuple(
        // The client of Node overlooks the coding when a tab stands behind it.
        casing('transfer-encoding: chunked'),
        fc.array(fc.nat(60), { maxLength: 6 }),
        pick('', ';a', ';a="b c"'),
        pick('', 'X-Sum: 1\r\n', 'a:\r\nb: 2\r\n'),
      )
      .map(([line, at, ...more]) => ({ kind: 'chunked', line, wire: chunked(bytes, at, ...more), bytes })),
    fc.constant({ kind: 'until_close', line: '', wire: bytes, bytes }),
    pick(204, 304).map((status) => ({
      kind: 'none',
      line: '',
      wire: Buffer.alloc(0),
      bytes: Buffer.alloc(0),
      status,
    })),
  ),
);

const interim = pick(
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n',
);

const answer = fc
  .record({
    interims: fc.array(interim, { maxLength: 3 }),
    version: pick('1.1', '1.1', '1.0'),
    status: pick(200, 201, 202, 302, 400, 401, 404, 408, 422, 429, 500, 502, 520, 530),
    reason: pick('', ' ', ' OK', ' Not \xfcber'),
    extras: fc.array(extra, { maxLength: 4 }),
    rest,
    framed,
  })
  // Nobody chunks to a 1.0 client.
  .filter(({ version, framed: { kind } }) => version === '1.1' || kind !== 'chunked')
  .map(({ interims, version, reason, extras, rest: resting, framed: frame, ...more }) => {
    const status = 'status' in frame ? frame.status : more.status;
    const lines = [...extras.map(({ line }) => line), ...resting.lines, frame.line].filter(
      (line) => line !== '',
    );
    const head = [`HTTP/${version} ${status}${reason}`, ...lines, '', ''].join('\r\n');
    return {
      bytes: Buffer.concat([Buffer.from(interims.join('') + head, 'latin1'), frame.wire]),
      isCutByClose: frame.kind === 'until_close',
      status,
      text: frame.bytes.toString(),
      restMs: version === '1.0' || frame.kind === 'until_close' ? 0 : resting.ms,
      headers: new Map(extras.toReversed().map(({ name, value }) => [name, value])),
    };
  });

describe('reading answers', () => {
  it('gives the same answer wherever the bytes are cut', () => {
    const cuts = fc.array(fc.nat(400), { maxLength: 8 }).map((at) => at.toSorted((a, b) => a - b));
    fc.assert(
      fc.property(answer, cuts, ({ bytes, isCutByClose, status, text, restMs, headers }, some) => {
        for (const at of [[], some, everyByte(bytes)]) {
          const { progress, ended, reader } = read(bytes, at);
          expect(progress).toBe(isCutByClose ? 'more' : 'complete');
          expect(ended).toBe('complete');
          expect(reader).toMatchObject({ status, text, restMs });
          for (const [name, value] of headers) expect(reader.headers.get(name)).toBe(value);
        }
      }),
      { numRuns: 400 },
    );
  });

  it('reads what the client of Node reads', async () => {
    let bytes = Buffer.alloc(0);
    const server = createServer((socket) =>
      socket.on('error', () => {}).once('data', () => socket.end(bytes)),
    );
    const port = await listen(server);
    undo.add(() => server.close());
    await fc.assert(
      fc.asyncProperty(answer, async (one) => {
        bytes = one.bytes;
        const [theirs]: IncomingMessage[] = await once(
          get({ port, host: '127.0.0.1', agent: false }),
          'response',
        );
        const text = Buffer.concat((await theirs?.toArray()) ?? []).toString();
        const { reader } = read(bytes);
        expect({ status: theirs?.statusCode, text }).toEqual({ status: reader.status, text: reader.text });
        for (const name of one.headers.keys())
          expect(theirs?.headers[name]?.toString().split(', ')[0]).toBe(
            reader.headers.get(name)?.split(', ')[0],
          );
      }),
      { numRuns: 40 },
    );
  });

  it('takes nothing behind an answer for an answer, and ends the connection there', () => {
    fc.assert(
      fc.property(
        answer,
        fc.uint8Array({ minLength: 1, maxLength: 9 }),
        ({ bytes, isCutByClose, ...one }, more) => {
          fc.pre(!isCutByClose);
          const { reader, progress } = read(Buffer.concat([bytes, more]));
          expect(progress).toBe('complete');
          expect(reader).toMatchObject({ status: one.status, text: one.text, restMs: 0 });
        },
      ),
    );
  });

  it('forgets the last answer when the next one begins', () => {
    fc.assert(
      fc.property(answer, answer, (first, second) => {
        const { reader } = read(first.bytes);
        read(second.bytes, [], true, reader);
        const { status, text, restMs } = second;
        expect(reader).toMatchObject({ status, text, restMs });
      }),
    );
  });

  it('never makes an answer of an answer that was cut short', () => {
    fc.assert(
      fc.property(answer, fc.nat(), ({ bytes, isCutByClose }, at) => {
        fc.pre(!isCutByClose);
        expect(read(bytes.subarray(0, at % bytes.length)).ended).toBe('broken');
      }),
    );
  });

  it('survives any bytes at all', () => {
    const words = 'HTTP/1.1 200 OK|\r\n|\n|\r| |:|Content-Length: 3|Transfer-Encoding: chunked|3|0|abc|\0';
    const piece = pick(...words.split('|'));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 16 }), (pieces) => {
        const bytes = Buffer.from(pieces.join(''));
        const whole = read(bytes);
        const dripped = read(bytes, everyByte(bytes));
        expect(dripped.ended).toBe(whole.ended);
        if (whole.ended === 'complete') expect(dripped.reader.text).toBe(whole.reader.text);
      }),
      { numRuns: 1000 },
    );
  });
});

const head = (...lines: string[]) => ['HTTP/1.1 200 OK', ...lines, '', ''].join('\r\n');
const CHUNKED = head('Transfer-Encoding: chunked');

describe('bodies', () => {
  const sized = (length: number) => Buffer.from(head(`Content-Length: ${length}`) + 'x'.repeat(length));
  const drip = (bytes: Buffer) =>
    Array.from({ length: Math.ceil(bytes.length / 1000) }, (_one, index) => index * 1000);

  it('are read up to the limit, and not beyond', () => {
    const fits = sized(256 * 1024);
    for (const cuts of [[], drip(fits)]) expect(read(fits, cuts).reader.text.length).toBe(256 * 1024);
    const large = sized(256 * 1024 + 1);
    for (const cuts of [[], drip(large)]) {
      expect(read(large, cuts).progress).toBe('too_large');
      const unwanted = read(large, cuts, false);
      expect(unwanted).toMatchObject({ progress: 'complete', reader: { status: 200, text: '', restMs: 0 } });
    }
  });

  it('are read though blanks stand behind the size of a chunk', () => {
    const blanks = `${CHUNKED}2 \r\nab\r\n1\t ; a\r\nc\r\n0 \r\n\r\n`;
    expect(read(Buffer.from(blanks))).toMatchObject({ progress: 'complete', reader: { text: 'abc' } });
  });

  it('of an answer that has none end its connection: they would be read as the next answer', () => {
    for (const line of ['Content-Length: 5', 'Transfer-Encoding: chunked'])
      expect(read(Buffer.from(head(line).replace('200', '204')))).toMatchObject({
        progress: 'complete',
        reader: { restMs: 0 },
      });
    expect(read(Buffer.from(head('Content-Length: 0').replace('200', '204'))).reader.restMs).toBe(30_000);
  });
});

describe('answers that come byte by byte', () => {
  function costOf(bytes: Buffer): number {
    const before = process.cpuUsage();
    expect(read(bytes, everyByte(bytes)).progress).toBe('complete');
    const { user, system } = process.cpuUsage(before);
    return user + system;
  }

  it.each([
    ['a long line', (size: number) => head(`X: ${'y'.repeat(size)}`, 'Content-Length: 0')],
    ['many lines', (size: number) => head(...Array<string>(size / 8).fill('X: 1'), 'Content-Length: 0')],
    ['many chunks', (size: number) => `${CHUNKED}${'1\r\nx\r\n'.repeat(size / 2)}0\r\n\r\n`],
  ])('cost as much as they are long: %s', (_what, answerOf) => {
    const cost = (size: number) => Math.min(...[1, 2, 3].map(() => costOf(Buffer.from(answerOf(size)))));
    // Eight times as long; sixty-four times as dear if every byte called for a look at all before it.
    expect(cost(64_000) / cost(8000)).toBeLessThan(25);
  });
});
