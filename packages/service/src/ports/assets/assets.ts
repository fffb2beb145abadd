import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';

declare const brand: unique symbol;
/** 192 random bits in base64url: whoever has the address may read the file, nobody finds it by guessing. */
export type AssetId = string & { readonly [brand]: 'AssetId' };

const ID_BYTES = 24;
const isAssetId = (value: unknown): value is AssetId =>
  typeof value === 'string' && /^[\w-]{32}$/.test(value);

export const newAssetId = (): AssetId => {
  const id = randomBytes(ID_BYTES).toString('base64url');
  if (!isAssetId(id))
    throw new Error(`an asset id of ${ID_BYTES} bytes has 32 characters, this one ${id.length}`);
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
 * Bytes under unguessable ids; what they are called and whose they are is kept elsewhere.
 *
 * - `store` is all or nothing. Once it answers `stored`, the bytes survive a crash and every node that shares the
 *   engine sees all of them; until then nobody sees any. Whatever else happens (the source breaks off, the limit is
 *   passed, the disk is full, the process dies) nothing readable is left behind, and what a crash leaves is swept up
 *   at the next start. The size is counted, never believed; reading stops as soon as `limit` is passed.
 * - `open` answers undefined for an id that is not (or no longer) there. A part must lie within the file.
 *   Once opened, a stream reads to its end even if the asset is removed meanwhile, or fails; it never ends early as if whole.
 * - `remove` is done when the id is gone, also when it never was there.
 * - `list` finds what was stored before a moment, in no order; what is stored or removed meanwhile may be missed or shown.
 * - An engine that cannot do its part throws `EngineError`. A source that fails is rethrown as it came.
 */
export interface Assets {
  store(bytes: AsyncIterable<Uint8Array>, limit: number): Promise<StoreOutcome>;
  open(id: AssetId, part?: { start: number; length: number }): Promise<Readable | undefined>;
  stat(id: AssetId): Promise<StoredAsset | undefined>;
  remove(id: AssetId): Promise<void>;
  list(before: Date): AsyncIterable<StoredAsset>;
}
