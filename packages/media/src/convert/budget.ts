/** The file is not converted, for a reason that its recipient may read; it is delivered as it came. */
export class ConversionError extends Error {
  override readonly name = 'ConversionError';
}

const MIB = 1024 * 1024;

/** Read whole into memory, beside what it unpacks to. */
export const MAX_INPUT_BYTES = 32 * MIB;
/** As large as a file may be that a Mac uploads. */
export const MAX_OUTPUT_BYTES = 100 * MIB;
/** The largest photo a phone takes, with some room; only formats that unpack strip by strip come this far. */
export const MAX_PIXELS = 50_000_000;
/** Of a picture that must stand in memory whole, some of them several times over: 52 MB at four bytes each. */
export const MAX_PIXELS_AT_ONCE = 13_000_000;
/** Of one frame of an animation, which stands beside the canvas and what the canvas was before. */
export const MAX_PIXELS_OF_FRAME = 4_000_000;
export const MAX_FRAMES = 300;
/** Of all frames together; quantising them takes about a second for ten million. */
export const MAX_PIXELS_ANIMATED = 100_000_000;

/** Looked at before anything is unpacked: a header of a few bytes may promise gigabytes. */
export function checkPicture(width: number, height: number, most = MAX_PIXELS_AT_ONCE): void {
  if (width < 1 || height < 1) throw new ConversionError('the picture has no size');
  if (width * height > most) throw new ConversionError(`the picture is too large (${width} × ${height})`);
}

export function checkAnimation(width: number, height: number, frames: number): void {
  checkPicture(width, height, MAX_PIXELS_OF_FRAME);
  if (frames > MAX_FRAMES) throw new ConversionError(`the animation has too many frames (${frames})`);
  if (width * height * frames > MAX_PIXELS_ANIMATED) {
    throw new ConversionError(`the animation is too large (${frames} frames of ${width} × ${height})`);
  }
}
