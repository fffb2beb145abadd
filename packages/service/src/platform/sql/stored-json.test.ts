import { expect, it } from 'vitest';

import { readStored, TEXTS } from './stored-json.ts';

it('a column with JSON is read, also one with a lone surrogate', () => {
  expect(readStored(TEXTS, JSON.stringify(['loc1', 'loc\ud800']))).toEqual(['loc1', 'loc\ufffd']);
});

it('a column with JSON of another shape is an error that does not contain the value', () => {
  expect(() => readStored(TEXTS, '["loc1", 7]')).toThrow('in stored JSON [1] must be a string');
  expect(() => readStored(TEXTS, '[')).toThrow(SyntaxError);
});
