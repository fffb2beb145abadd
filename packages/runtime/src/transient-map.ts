/** A Map for values that come and go. For the reason see `Chain`: here the tables that the Map has left reference only empty cells. */
export class TransientMap<K, V> {
  readonly #cells = new Map<K, { value: V | undefined }>();

  get(key: K): V | undefined {
    return this.#cells.get(key)?.value;
  }

  set(key: K, value: V): void {
    this.#cells.set(key, { value });
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
