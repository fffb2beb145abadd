import { expect, it } from 'vitest';

import { readJson, readObject } from './read-json.ts';

it.each([
  ['{"a":[1]}', { a: [1] }, { a: [1] }],
  ['[1]', [1], { 0: 1 }],
  ['null', null, {}],
  ['"text"', 'text', {}],
  ['', undefined, {}],
  ['{"a":', undefined, {}],
])('reads %j', (text, value, fields) => {
  expect(readJson(text)).toEqual(value);
  expect(readObject(text)).toEqual(fields);
});

it('T60 does not parse what is nested too deeply', () => {
  expect(readJson(`${'['.repeat(500)}${']'.repeat(500)}`)).toBeInstanceOf(Array);
  expect(readJson(`${'['.repeat(600)}${']'.repeat(600)}`)).toBeUndefined();
});
