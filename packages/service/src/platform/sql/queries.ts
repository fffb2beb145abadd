import type { CompiledQuery } from 'kysely';
import { checkAgainst, list } from '@footbridge/protocol/schema';
import type { FromSchema, Schema } from '@footbridge/protocol/schema';

import { EngineError } from '../errors.ts';

/** Returns a function that runs queries. Whatever they reject with becomes an EngineError with this message. */
export const guarded =
  (message: string) =>
  async <T>(query: () => Promise<T>): Promise<T> => {
    try {
      return await query();
    } catch (error) {
      throw new EngineError('sql', message, error);
    }
  };

const MAX_LIST = 500;

/** Runs a query per chunk of keys: both engines limit the number of parameters. */
export async function inChunks<K, V>(
  keys: readonly K[],
  query: (chunk: readonly K[]) => Promise<readonly V[]>,
): Promise<V[]> {
  const all: V[] = [];
  for (let from = 0; from < keys.length; from += MAX_LIST)
    all.push(...(await query(keys.slice(from, from + MAX_LIST))));
  return all;
}

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

/** A column with a list of texts, such as the ids of locations. */
export const TEXTS = list({ type: 'string' });

/** Returns the value of a column that has JSON. Throws an Error that names the field and the rule. */
export function readStored<const S extends Schema>(schema: S, json: string): FromSchema<S> {
  const checked = checkAgainst(schema, JSON.parse(json, wellFormed));
  if (checked.ok) return checked.value;
  throw new Error(`in stored JSON ${checked.reason}`);
}

/** A schema refuses lone surrogates, but a row that has one must stay readable. */
const wellFormed = (_name: string, value: unknown): unknown =>
  typeof value === 'string' ? value.toWellFormed() : value;
