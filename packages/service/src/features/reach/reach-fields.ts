/** How a person is reached, as shown in a contact of the CRM. */
export interface ReachField {
  /** The custom field that holds the value. */
  readonly fieldId: string;
  readonly reach: 'iMessage' | 'SMS' | 'unknown';
}

export interface ReachFieldView extends ReachField {
  readonly locationId: string;
  readonly since: number;
}

/**
 * The values that the service has written into a custom field of contacts, so that each is written once. People are stored as keyed hashes.
 *
 * - `get` resolves with the value that was `set` last, even if it was stored with a previous key.
 * - `list` and `erase` apply to one person, in the given locations or, if undefined, in all.
 * - Every method rejects with EngineError when the database is unavailable.
 */
export interface ReachFields {
  get(locationId: string, handle: string): Promise<ReachField | undefined>;
  set(locationId: string, handle: string, field: ReachField): Promise<void>;
  /** Ordered by location. */
  list(handle: string, locationIds?: readonly string[]): Promise<ReachFieldView[]>;
  erase(handle: string, locationIds?: readonly string[]): Promise<void>;
}
