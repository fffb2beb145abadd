import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { Converter } from '@footbridge/media/converter';
import { STICKER_PROGRAM } from '@footbridge/media/sticker-converter';
import type { Log } from '@footbridge/runtime/log';

import type { Images } from '../flows/outbound/job-deps.ts';

const LIMITS = { slots: 1, idleMs: 30_000 };

/** Decodes sticker images in a sandboxed child process. The folder of the process must be on the same disk as the scratch folder. */
export async function openStickerImages(
  dataDir: string,
  log: Log,
): Promise<{ images: Images; close: () => Promise<void> }> {
  const options = { ...LIMITS, program: STICKER_PROGRAM };
  const converter = await Converter.open(join(dataDir, 'converter'), log, options);
  const images: Images = {
    async rewritePng(png, path) {
      const result = await converter.convert('png', async () => Readable.from([png]), 'stickers');
      if (!result.ok) return result;
      await rename(result.path, path);
      return { ok: true };
    },
  };
  return { images, close: () => converter.close() };
}
