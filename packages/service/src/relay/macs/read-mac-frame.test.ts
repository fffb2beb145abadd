import { expect, it } from 'vitest';

import { readMacFrame } from './read-mac-frame.ts';

const read = (text: string) => readMacFrame(Buffer.from(text), text);
const names = (count: number) => Array.from({ length: count }, (_, index) => `"n${index}":0`).join(',');

it('a frame of a known type is parsed', () => {
  expect(read('{"type":"received","requestId":"r"}')).toMatchObject({ kind: 'frame' });
  expect(read(` {"type":"received","requestId":"r",${names(100)}}`)).toMatchObject({ kind: 'frame' });
});

it.each(['', ' ', '\r\n\t'])(
  'T54 an object with thousands of names is not parsed, after %j either',
  (space) => {
    expect(read(`${space}{"type":"received","requestId":"r",${names(5000)}}`).kind).toBe('unknown');
  },
);

it('T54 thousands of lists are not parsed', () => {
  expect(read(' ['.repeat(5000)).kind).toBe('invalid');
});
