import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';

import type { Converter } from '@footbridge/media/converter';
import { mediaType } from '@footbridge/media/media-types';

import type { AssetConverter } from '../../flows/assets/take-upload.ts';
import type { Assets } from '../../ports/assets/assets.ts';

/** Reads the original from the asset store and converts it to a temporary file. */
export function createAssetConverter(
  assets: Pick<Assets, 'open'>,
  converter: Pick<Converter, 'convert'>,
): AssetConverter {
  return {
    async convert(original, type) {
      const { convert } = mediaType(type);
      if (convert === undefined) return { ok: false, reason: 'there is nothing to convert' };
      const result = await converter.convert(convert, async () => {
        const bytes = await assets.open(original);
        if (bytes === undefined) throw new Error('the original is gone');
        return bytes;
      });
      if (!result.ok) return result;
      const { path, ...converted } = result;
      return {
        ...converted,
        read: () => createReadStream(path),
        discard: () => rm(path, { force: true }),
      };
    },
  };
}
