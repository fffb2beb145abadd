/** How long the data of a location is kept. Null: as long as the settings of the service say. */
export interface RetentionDays {
  readonly journalDays: number | null;
  readonly assetDays: number | null;
}

export interface LocationRetention extends RetentionDays {
  readonly locationId: string;
}

/**
 * The locations with their own retention.
 *
 * - `set` replaces both values of a location. With both null, the location no longer has its own.
 * - `of` resolves with nulls for a location without its own values.
 * - Every method rejects with EngineError when the database is unavailable.
 */
export interface Retention {
  set(retention: LocationRetention): Promise<void>;
  of(locationId: string): Promise<RetentionDays>;
  /** Lists all or a page, in the order of the database. An empty string starts at the beginning. */
  list(page?: {
    limit: number;
    after: string;
    locationIds: readonly string[] | undefined;
  }): Promise<LocationRetention[]>;
}
