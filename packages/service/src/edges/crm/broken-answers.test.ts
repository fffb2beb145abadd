import { describe, expect, it } from 'vitest';

import { AnswerReader } from './answer-reader.ts';

function read(answer: string, step: number): string {
  const bytes = Buffer.from(answer, 'latin1');
  const reader = new AnswerReader();
  reader.begin(true);
  for (let at = 0; at < bytes.length; at += step) {
    const progress = reader.push(bytes.subarray(at, at + step));
    if (progress !== 'more') return progress;
  }
  return reader.end();
}

const head = (...lines: string[]) => ['HTTP/1.1 200 OK', ...lines, '', ''].join('\r\n');
const CHUNKED = head('Transfer-Encoding: chunked');
const NO_BODY = 'Content-Length: 0';
const each = (spellings: string, inside: (one: string) => string) => spellings.split('|').map(inside);

describe('an answer whose end two readers could see in different places is broken', () => {
  const table: Record<string, string[]> = {
    'a length and a coding': [
      `${head('Content-Length: 3', 'Transfer-Encoding: chunked')}3\r\nabc\r\n0\r\n\r\n`,
      head('Transfer-Encoding: chunked', 'Content-Length: 3').replace('200 OK', '204 No Content'),
    ],
    'a length twice': [
      `${head('Content-Length: 3', 'content-length: 3')}abc`,
      `${head('Content-Length: 3', 'X: 1', 'Content-Length: 4')}abcd`,
    ],
    'a coding twice': [`${head('Transfer-Encoding: chunked', 'transfer-encoding: chunked')}0\r\n\r\n`],
    'a coding we do not know': each(
      'gzip, chunked|chunked, chunked|identity|xchunked|chunked;a=b||"chunked"|\xa0chunked|\x0bchunked',
      (coding) => `${head(`Transfer-Encoding: ${coding}`)}0\r\n\r\n`,
    ),
    'a length that is none': each(
      '-1|+3|0x3|3.0|3e0||3 3|3, 3|3;|99999999999999999999|\xa03|\x0c3|3\0',
      (length) => `${head(`Content-Length: ${length}`)}abc`,
    ),
    'a chunk size that is none': each(
      '|g|-3|+3|0x3| 3|3.|3 3|100000000000000003|3;\0|3;\rx|3;\nx|3\n|\xa03',
      (size) => `${CHUNKED}${size}\r\nabc\r\n0\r\n\r\n`,
    ),
    'no line break behind a chunk': each('|x|\n|\r|\rx|d\r\n', (end) => `${CHUNKED}3\r\nabc${end}0\r\n\r\n`),
    'a status line that is none': each(
      'HTTP/1.1 200OK|HTTP/1.1  200 OK|HTTP/2 200 OK|HTTP/1.2 200 OK|http/1.1 200 OK|HTTP/1.1 20 OK|HTTP/1.1 2000 OK|' +
        'HTTP/1.1 600 OK|HTTP/1.1 099 OK|HTTP/1.1\t200 OK| HTTP/1.1 200 OK|\r\nHTTP/1.1 200 OK|HTTP/1.1 200 O\0K|' +
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
    'folded lines': [
      `${head('Content-Length:', ' 3')}abc`,
      head('X: a', '\tContent-Length: 3', NO_BODY),
      `${head('Transfer-Encoding:', ' chunked')}0\r\n\r\n`,
      head(' Content-Length: 3', NO_BODY),
      `${CHUNKED}0\r\nX: 1\r\n folded\r\n\r\n`,
    ],
    'names that are none': each(
      'Content-Length : 3|Content-Length\t: 3|Transfer-Encoding : chunked|Content Length: 3|: 3|nothing|L\xe9ngth: 3',
      (line) => head(line, NO_BODY),
    ),
    'such lines in an interim answer': [`HTTP/1.1 100 Continue\r\nX : 1\r\n\r\n${head(NO_BODY)}`],
    'a head without end': [
      head(`X: ${'y'.repeat(70_000)}`, NO_BODY),
      head(...Array.from({ length: 12_000 }, () => 'X: 1'), NO_BODY),
    ],
    'interim answers without end': [`${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(4000)}${head(NO_BODY)}`],
    'trailers without end': [
      `${CHUNKED}0\r\n${'X: 1\r\n'.repeat(20_000)}\r\n`,
      `${CHUNKED}0\r\nX: ${'y'.repeat(70_000)}\r\n\r\n`,
    ],
    'an extension without end': [`${CHUNKED}3;${'y'.repeat(5000)}\r\nabc\r\n0\r\n\r\n`],
  };

  it.each(Object.entries(table))('%s', (_what, answers) => {
    for (const answer of answers)
      for (const step of [answer.length, Math.ceil(answer.length / 3), 1])
        expect.soft(read(answer, step), JSON.stringify(answer.slice(0, 120))).toBe('broken');
  });
});
