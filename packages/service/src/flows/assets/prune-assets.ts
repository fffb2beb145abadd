import { asAssetId } from '../../ports/assets/assets.ts';
import type { Assets } from '../../ports/assets/assets.ts';
import type { AssetIndex } from '../../ports/asset-index/asset-index.ts';

const AT_ONCE = 200;

/** Removes what has outlived its time: bytes first, so that a crash in between leaves a record to try again by. */
export async function pruneAssets(
  assets: Pick<Assets, 'remove'>,
  index: Pick<AssetIndex, 'expired' | 'remove'>,
): Promise<number> {
  let removed = 0;
  for (;;) {
    const expired = await index.expired(AT_ONCE);
    for (const { id } of expired) {
      const stored = asAssetId(id);
      if (stored !== undefined) await assets.remove(stored);
      await index.remove(id);
      removed++;
    }
    if (expired.length < AT_ONCE) return removed;
  }
}
