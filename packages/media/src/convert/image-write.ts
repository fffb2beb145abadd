import { JpegWriter, MAX_JPEG_SIDE } from './jpeg-write.ts';
import type { OutputFile } from './output-file.ts';
import { PngWriter } from './png-write.ts';

/**
 * An opaque image with more pixels becomes a JPEG: as a PNG it takes up to three bytes per pixel, and the CRM's storage
 * takes files up to 5 MB.
 */
export const MAX_PNG_PIXELS = 1_500_000;
const JPEG_QUALITY = 85;

export interface ImageFormat {
  width: number;
  height: number;
  hasAlpha: boolean;
  /** ICC colour profile; without it a photo in Display P3 looks pale. */
  profile?: Uint8Array | undefined;
}

export interface ImageWriter {
  type: 'image/png' | 'image/jpeg';
  /** Takes one row of three bytes per pixel, four with alpha; the caller may reuse the array. */
  row(pixels: Uint8Array): void;
  finish(): void;
}

/** Images with alpha and small ones become PNG, which loses nothing; large opaque ones become JPEG. */
export function openImageWriter(output: OutputFile, format: ImageFormat): ImageWriter {
  const { width, height, hasAlpha, profile } = format;
  const isLarge = width * height > MAX_PNG_PIXELS && Math.max(width, height) <= MAX_JPEG_SIDE;
  return isLarge && !hasAlpha
    ? new JpegWriter(output, format, { quality: JPEG_QUALITY, profile })
    : new PngWriter(output, format, hasAlpha ? 4 : 3, profile);
}
