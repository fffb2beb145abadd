import type { CompiledQuery } from 'kysely';

const MAX_ROWS = 64;

/**
 * Splits rows into batches of 64, 32, … 1 and compiles one query per batch size. Compiling is most of a query's cost, and the
 * engine's cache of prepared statements has room for this few.
 */
export function queriesBySize(compile: (rows: number) => CompiledQuery) {
  const compiled = new Map<number, CompiledQuery>();
  return function* batches<T>(rows: readonly T[]): Generator<{ query: CompiledQuery; batch: readonly T[] }> {
    let size = MAX_ROWS;
    for (let from = 0; from < rows.length; from += size) {
      while (size > rows.length - from) size /= 2;
      const query = compiled.get(size) ?? compile(size);
      compiled.set(size, query);
      yield { query, batch: rows.slice(from, from + size) };
    }
  };
}
