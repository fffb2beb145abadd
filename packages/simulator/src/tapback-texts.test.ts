import { expect, it } from 'vitest';

import { tapbackText } from './tapback-texts.ts';

it('F5 Tapback texts quote their target literally, including replacement patterns', () => {
  const love = { kind: 'classic', type: 'love' } as const;
  expect(tapbackText(love, 'add', '$& $1 %@', 'en')).toBe('Loved “$& $1 %@”');
  expect(tapbackText(love, 'add', '', 'nl')).toBe('Gaf een hartje aan een bijlage');
  expect(tapbackText({ kind: 'emoji', emoji: '$&' }, 'remove', 'Hi', 'en')).toBe('Removed a $& from “Hi”');
});
