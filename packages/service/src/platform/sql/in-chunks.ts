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
