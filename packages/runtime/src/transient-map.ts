/**
 * A Map for short-lived values. An outgrown hash table keeps its entries alive (see `LinkedList`), so each value is in a cell that `delete`
 * empties. Only the keys stay.
 */
export class TransientMap<K, V extends {}> {
  readonly #cells = new Map<K, { value: V | undefined }>();

  get(key: K): V | undefined {
    return this.#cells.get(key)?.value;
  }

  set(key: K, value: V): void {
    const cell = this.#cells.get(key);
    if (cell === undefined) this.#cells.set(key, { value });
    else cell.value = value;
  }

  delete(key: K): boolean {
    const cell = this.#cells.get(key);
    if (cell === undefined) return false;
    cell.value = undefined;
    return this.#cells.delete(key);
  }

  /** In the order in which the keys were added. */
  *values(): Generator<V> {
    for (const { value } of this.#cells.values()) if (value !== undefined) yield value;
  }
}
