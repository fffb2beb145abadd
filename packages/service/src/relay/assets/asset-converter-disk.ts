import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';

import type { Converter } from '@footbridge/media/converter';
import { mediaType } from '@footbridge/media/media-types';

import type { AssetConverter } from './take-upload.ts';
import type { Assets } from './assets.ts';

export interface AssetConverterDeps {
  readonly assets: Pick<Assets, 'open'>;
  readonly converter: Pick<Converter, 'convert'>;
  readonly convertHeic: boolean;
}

/** Reads the original from the asset store and converts it to a temporary file. */
export function createAssetConverter({ assets, converter, convertHeic }: AssetConverterDeps): AssetConverter {
  return {
    async convert(original, type, locationId) {
      const { convert } = mediaType(type);
      if (convert === undefined) return { ok: false, reason: 'there is nothing to convert' };
      if (convert === 'heic' && !convertHeic) return { ok: false, reason: 'HEIC conversion is turned off' };
      const open = async () => {
        const bytes = await assets.open(original);
        if (bytes === undefined) throw new Error('the original is gone');
        return bytes;
      };
      const result = await converter.convert(convert, open, locationId);
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
