/** Why a number is suppressed, or no longer is. */
export type SuppressionSource = 'crm' | 'word' | 'operator';

export interface SuppressionChange {
  readonly locationId: string;
  /** A phone number or an email address. Only its hash is stored. */
  readonly handle: string;
  readonly isSuppressed: boolean;
  readonly source: SuppressionSource;
  /** When it was decided; undefined: now. */
  readonly at?: number | undefined;
}

export interface SuppressionView {
  readonly locationId: string;
  readonly hash: string;
  readonly source: SuppressionSource;
  readonly since: number;
}

/**
 * The numbers of a location that opted out of texts (E4), kept as keyed hashes.
 *
 * - `set` records decisions, each unless a newer one is known: decisions may arrive twice and in any order.
 * - `list` returns a page in order of location and hash, after the given entry. With a handle, only its entries. `restore` adds what `list`
 *   returned, even from another database with the same key.
 * - Every method rejects with EngineError when the database is unavailable.
 */
export interface Suppressions {
  set(...changes: readonly SuppressionChange[]): Promise<void>;
  has(locationId: string, handle: string): Promise<boolean>;
  list(options: {
    readonly locationIds?: readonly string[] | undefined;
    readonly handle?: string | undefined;
    readonly after?: { readonly locationId: string; readonly hash: string } | undefined;
    readonly limit: number;
  }): Promise<SuppressionView[]>;
  restore(entries: readonly SuppressionView[]): Promise<void>;
}
