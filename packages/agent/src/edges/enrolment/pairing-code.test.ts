import { expect, it } from 'vitest';

import { readPairingCode } from './pairing-code.ts';

it.each([
  ['K7QF-3M9X@bridge.example.com', { code: 'K7QF-3M9X', url: 'https://bridge.example.com' }],
  [
    ' k7qf3m9x@bridge.example.com:8443/base/ ',
    { code: 'k7qf3m9x', url: 'https://bridge.example.com:8443/base' },
  ],
  ['K7QF-3M9X@http://127.0.0.1:4600', { code: 'K7QF-3M9X', url: 'http://127.0.0.1:4600' }],
  ['K7QF 3M9X', { code: 'K7QF 3M9X' }],
])('M12 reads %j', (typed, expected) => {
  expect(readPairingCode(typed)).toEqual(expected);
});

it.each([
  '',
  'K7QF',
  'K7QF-3M9X@',
  'K7QF-3M9X@a b',
  'FB-7Q2XK-AAAAA',
  '@bridge.example.com',
  'https://x.example',
])('M12 %j is not a pairing code', (typed) => {
  expect(readPairingCode(typed)).toBeUndefined();
});
