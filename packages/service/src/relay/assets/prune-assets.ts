import { asAssetId } from './assets.ts';
import type { Assets } from './assets.ts';
import type { AssetIndex } from './asset-index-sql.ts';

const BATCH_SIZE = 200;

/** Removes expired assets. The bytes go first: after a crash in between, the record is still there for the next attempt. */
export async function pruneAssets(
  assets: Pick<Assets, 'remove'>,
  index: Pick<AssetIndex, 'expired' | 'remove'>,
): Promise<number> {
  let removed = 0;
  for (;;) {
    const expired = await index.expired(BATCH_SIZE);
    for (const { id } of expired) {
      const stored = asAssetId(id);
      if (stored !== undefined) await assets.remove(stored);
      await index.remove(id);
      removed++;
    }
    if (expired.length < BATCH_SIZE) return removed;
  }
}
