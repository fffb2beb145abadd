import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

import type { Workshop } from '../../flows/assets/take-upload.ts';
import type { Converter } from '@footbridge/media/convert';
import { mediaType } from '@footbridge/media/media-types';
import { newAssetId } from '../../ports/assets/assets.ts';
import type { Assets } from '../../ports/assets/assets.ts';

/** Converts in a folder of its own: the threads read and write files, wherever the bytes are kept. */
export async function openWorkshop(
  folder: string,
  assets: Pick<Assets, 'open'>,
  converter: Pick<Converter, 'convert'>,
): Promise<Workshop> {
  // What a crash left here is of no use to anybody.
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return {
    async make(original, type) {
      const { convert } = mediaType(type);
      if (convert === undefined) return { ok: false, reason: 'there is nothing to convert' };
      const job = newAssetId();
      const [input, output] = [join(folder, `${job}.in`), join(folder, `${job}.out`)];
      try {
        const bytes = await assets.open(original);
        if (bytes === undefined) return { ok: false, reason: 'the file is gone' };
        await pipeline(bytes, createWriteStream(input, { mode: 0o600 }));
        const made = await converter.convert({ conversion: convert, input, output });
        if (!made.ok) return made;
        const { note } = made;
        return {
          ok: true,
          type: made.type,
          ...(note !== undefined && { note }),
          read: () => createReadStream(output),
          discard: () => rm(output, { force: true }),
        };
      } catch (error) {
        await rm(output, { force: true });
        return {
          ok: false,
          reason:
            error instanceof Error && 'code' in error && error.code === 'ENOSPC'
              ? 'there is no room to convert it'
              : 'it could not be read',
        };
      } finally {
        await rm(input, { force: true });
      }
    },
  };
}
