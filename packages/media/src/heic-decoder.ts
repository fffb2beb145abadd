import { createRequire } from 'node:module';

import type { ConverterLog } from './converter.ts';

const DECODER = 'libheif-js/libheif-wasm/libheif.wasm';

/** Returns whether the HEIC decoder, an optional dependency, is installed. Logs what to do when it is not. */
export function hasHeicDecoder(
  log: ConverterLog,
  resolve: (module: string) => string = createRequire(import.meta.url).resolve,
): boolean {
  try {
    resolve(DECODER);
    return true;
  } catch {
    log.warn(
      { event: 'media.heic_decoder_missing' },
      'libheif-js is not installed, HEIC files are delivered unconverted; install the optional dependencies or set MEDIA_HEIC=off',
    );
    return false;
  }
}
