import { expect, it } from 'vitest';

import { printable } from './printable.ts';

it('replaces control and format characters and lone surrogates in untrusted text', () => {
  expect(printable('a\u001b[31mb\u202ec\nd\u2028\ud800')).toBe('a·[31mb·c·d·\ufffd');
});
