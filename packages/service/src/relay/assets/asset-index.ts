/** The metadata of a stored file. */
export interface AssetRecord {
  readonly id: string;
  readonly locationId: string;
  /** The license of the Mac that sent the file; null for a file of an earlier version. */
  readonly licenseId: string | null;
  readonly name: string;
  readonly contentType: string;
  readonly size: number;
  /** Hex. */
  readonly sha256: string;
  /** For a converted file: the id of the original, which is stored too. */
  readonly originalId: string | null;
  /** What the conversion lost, or why the file was not converted. */
  readonly note: string | null;
  readonly createdAt: number;
  readonly expiresAt: number;
}

export interface AssetTotals {
  readonly count: number;
  readonly bytes: number;
}

/**
 * The names, owners and expiry of stored files. The bytes are in the asset store: a record is added after its bytes are stored and
 * removed after they are deleted. Errors of the database are thrown unchanged.
 */
export interface AssetIndex {
  add(record: AssetRecord): Promise<void>;
  /** Resolves with undefined when the record does not exist or has expired. */
  find(id: string): Promise<AssetRecord | undefined>;
  /** Resolves with expired records, oldest first. */
  expired(limit: number): Promise<AssetRecord[]>;
  remove(id: string): Promise<void>;
  /** Records who sent a file, and its original. The phone number or email address is stored as a keyed hash. */
  setSender(id: string, handle: string): Promise<void>;
  /** Resolves with the files that a person sent, expired ones included, oldest first. `locationIds` undefined: all locations. */
  ofSender(handle: string, locationIds?: readonly string[]): Promise<AssetRecord[]>;
  /** Changes how long the files of a location are kept, from when each was stored. */
  keepFor(locationId: string, ms: number): Promise<void>;
  /** Sums up one location or one license, or all of them. */
  totals(of?: { readonly locationId: string } | { readonly licenseId: string }): Promise<AssetTotals>;
  /** Corrects the totals after nodes of an earlier version added or removed files without updating them. */
  recount(): Promise<void>;
}
