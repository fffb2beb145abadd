import { CompiledQuery } from 'kysely';
import { expect, it } from 'vitest';

import { queriesBySize } from './queries-by-size.ts';

it('splits rows into batches of powers of two, each with the query of its size', () => {
  const compiled: number[] = [];
  const batches = queriesBySize((rows) => {
    compiled.push(rows);
    return CompiledQuery.raw(`${rows}`);
  });
  for (let count = 0; count <= 200; count++) {
    const rows = Array.from({ length: count }, (_, index) => index);
    const all = [...batches(rows)];
    expect(all.flatMap(({ batch }) => batch)).toEqual(rows);
    for (const { query, batch } of all) expect(query.sql).toBe(String(batch.length));
  }
  expect(compiled.toSorted((a, b) => a - b)).toEqual([1, 2, 4, 8, 16, 32, 64]);
});
