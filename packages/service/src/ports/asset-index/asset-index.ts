/** What is known of a stored file besides its bytes. */
export interface AssetRecord {
  readonly id: string;
  readonly locationId: string;
  readonly name: string;
  readonly contentType: string;
  readonly size: number;
  /** Hex. */
  readonly sha256: string;
  /** Of a converted file: what the Mac sent, kept beside it. */
  readonly originalId: string | null;
  /** What the reader should know: lost in the conversion, or not converted at all. */
  readonly note: string | null;
  readonly createdAt: number;
  readonly expiresAt: number;
}

export interface AssetTotals {
  readonly count: number;
  readonly bytes: number;
}

/**
 * Whose files there are, what they are called and until when they are kept. The bytes lie elsewhere: a record is added
 * only after its bytes are safe, and removed only after they are gone.
 */
export interface AssetIndex {
  add(record: AssetRecord): Promise<void>;
  /** Undefined also when it has expired. */
  find(id: string): Promise<AssetRecord | undefined>;
  expired(limit: number): Promise<AssetRecord[]>;
  remove(id: string): Promise<void>;
  /** Of one location, or of all. */
  totals(locationId?: string): Promise<AssetTotals>;
}
