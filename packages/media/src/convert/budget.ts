/** The file cannot be converted. The message is the reason given to the recipient of the unconverted file. */
export class ConversionError extends Error {
  override readonly name = 'ConversionError';
}

const MIB = 1024 * 1024;

/** The input is read into memory as a whole, next to what it decodes to. */
export const MAX_INPUT_BYTES = 32 * MIB;
/** The size limit of an upload. */
export const MAX_OUTPUT_BYTES = 100 * MIB;
/** A little more than the largest photo of a phone; applies to formats that are decoded strip by strip. */
export const MAX_PIXELS = 50_000_000;
/** For an image that is decoded as a whole, at four bytes per pixel: 52 MB, some decoders take several times that. */
export const MAX_PIXELS_AT_ONCE = 13_000_000;
/** For one frame of an animation, which is in memory next to the canvas and its previous state. */
export const MAX_FRAME_PIXELS = 4_000_000;
export const MAX_FRAMES = 300;
/** For all frames together; quantising ten million pixels takes about a second. */
export const MAX_ANIMATION_PIXELS = 100_000_000;

/** Called before anything is decoded: a header of a few bytes can announce gigabytes. */
export function checkImage(width: number, height: number, maxPixels = MAX_PIXELS_AT_ONCE): void {
  if (width < 1 || height < 1) throw new ConversionError('the image has no size');
  if (width * height > maxPixels) throw new ConversionError(`the image is too large (${width} × ${height})`);
}

export function checkAnimation(width: number, height: number, frames: number): void {
  checkImage(width, height, MAX_FRAME_PIXELS);
  if (frames > MAX_FRAMES) throw new ConversionError(`the animation has too many frames (${frames})`);
  if (width * height * frames > MAX_ANIMATION_PIXELS) {
    throw new ConversionError(`the animation is too large (${frames} frames of ${width} × ${height})`);
  }
}
