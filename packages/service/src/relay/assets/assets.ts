import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';

declare const brand: unique symbol;
/** 192 random bits in base64url. The id is the only protection of a file, so it must not be guessable. */
export type AssetId = string & { readonly [brand]: 'AssetId' };

const ID_BYTES = 24;
const isAssetId = (value: unknown): value is AssetId =>
  typeof value === 'string' && /^[\w-]{32}$/.test(value);

export const newAssetId = (): AssetId => {
  const id = randomBytes(ID_BYTES).toString('base64url');
  if (!isAssetId(id))
    throw new Error(`an asset id of ${ID_BYTES} bytes must have 32 characters, not ${id.length}`);
  return id;
};

export const asAssetId = (value: unknown): AssetId | undefined => (isAssetId(value) ? value : undefined);

export type StoreOutcome =
  | { stored: true; id: AssetId; size: number; /** Hex. */ sha256: string }
  | { stored: false; reason: 'too_large' | 'storage_full' };

export interface StoredAsset {
  id: AssetId;
  size: number;
  storedAt: Date;
}

/**
 * A blob store with unguessable ids. Names and owners of the files are in the asset index.
 *
 * - `store` is atomic. When it resolves with `stored: true`, the bytes survive a crash and are visible to every node on the engine;
 *   before that they are visible to none. When the source fails, the limit is exceeded, the disk is full or the process dies, no
 *   readable file remains, and leftovers are removed at the next start. The size is measured, and reading stops as soon as it
 *   exceeds `limit`.
 * - `open` resolves with undefined for an id that does not exist. A part must be within the file. An open stream reads to its end
 *   even if the asset is removed meanwhile, or it fails; it never ends early without an error.
 * - `remove` resolves also when the id does not exist.
 * - `list` yields the assets stored before a time, in no order. Assets stored or removed meanwhile may or may not be included.
 * - Every method rejects with EngineError when the engine fails. An error of the source is rethrown unchanged.
 */
export interface Assets {
  store(bytes: AsyncIterable<Uint8Array>, limit: number): Promise<StoreOutcome>;
  open(id: AssetId, part?: { start: number; length: number }): Promise<Readable | undefined>;
  stat(id: AssetId): Promise<StoredAsset | undefined>;
  remove(id: AssetId): Promise<void>;
  list(before: Date): AsyncIterable<StoredAsset>;
}
