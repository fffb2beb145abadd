import { CompiledQuery } from 'kysely';
import { expect, it } from 'vitest';

import { queriesBySize, readStored, TEXTS } from './queries.ts';

it('splits rows into power-of-two batches, each with the query for its size and the parameters of its rows', () => {
  const compiled: number[] = [];
  const queriesFor = queriesBySize(
    (rows) => {
      compiled.push(rows);
      return CompiledQuery.raw(`${rows}`);
    },
    (row: number) => [row, -row],
  );
  for (let count = 0; count <= 200; count++) {
    const rows = Array.from({ length: count }, (_, index) => index);
    const queries = queriesFor(rows);
    expect(queries.flatMap(({ parameters }) => parameters)).toEqual(rows.flatMap((row) => [row, -row]));
    for (const { sql, parameters } of queries) expect(sql).toBe(String(parameters.length / 2));
  }
  expect(compiled.toSorted((a, b) => a - b)).toEqual([1, 2, 4, 8, 16, 32, 64]);
});

it('a column with JSON is read, also one with a lone surrogate', () => {
  expect(readStored(TEXTS, JSON.stringify(['loc1', 'loc\ud800']))).toEqual(['loc1', 'loc\ufffd']);
});

it('a column with JSON of another shape is an error that does not contain the value', () => {
  expect(() => readStored(TEXTS, '["loc1", 7]')).toThrow('in stored JSON [1] must be a string');
  expect(() => readStored(TEXTS, '[')).toThrow(SyntaxError);
});
