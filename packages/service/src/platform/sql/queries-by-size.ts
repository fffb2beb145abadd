import type { CompiledQuery } from 'kysely';

const MAX_ROWS = 64;

/**
 * Returns a function that creates the queries for any number of rows. It splits rows into batches of 64, 32, … 1 and compiles one query
 * per batch size. Compiling is most of a query's cost, and the engine's cache of prepared statements has room for so few.
 */
export function queriesBySize<T>(
  compile: (rows: number) => CompiledQuery,
  toParameters: (row: T) => readonly unknown[],
): (rows: readonly T[]) => CompiledQuery[] {
  const compiled = new Map<number, CompiledQuery>();
  return (rows) => {
    const queries: CompiledQuery[] = [];
    let size = MAX_ROWS;
    for (let from = 0; from < rows.length; from += size) {
      while (size > rows.length - from) size /= 2;
      const query = compiled.get(size) ?? compile(size);
      compiled.set(size, query);
      queries.push({ ...query, parameters: rows.slice(from, from + size).flatMap(toParameters) });
    }
    return queries;
  };
}

/** Values for a list of this size, when the query is compiled. */
export const placeholders = (size: number): string[] => Array.from({ length: size }, () => '');
