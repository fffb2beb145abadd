/** How a person is reached, as a contact of the CRM shows it. */
export interface ReachField {
  /** The custom field that has the value. */
  readonly fieldId: string;
  readonly reach: 'iMessage' | 'SMS' | 'unknown';
}

export interface ReachFieldView extends ReachField {
  readonly locationId: string;
  readonly since: number;
}

/**
 * The values that the service wrote into a custom field of contacts, so that each is written once. People are kept as keyed hashes.
 *
 * - `get` resolves with the value that was `set` last, also under a former key.
 * - `list` and `erase` concern one person, in these locations; undefined: in all.
 * - Every method rejects with EngineError when the database is unavailable.
 */
export interface ReachFields {
  get(locationId: string, handle: string): Promise<ReachField | undefined>;
  set(locationId: string, handle: string, field: ReachField): Promise<void>;
  /** In order of location. */
  list(handle: string, locationIds?: readonly string[]): Promise<ReachFieldView[]>;
  erase(handle: string, locationIds?: readonly string[]): Promise<void>;
}
