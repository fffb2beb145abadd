import { applyPalette, GIFEncoder, quantize } from 'gifenc/dist/gifenc.esm.js';
import type { Frame } from './canvas.ts';
import type { OutputFile } from './output-file.ts';

/** A GIF pixel is seen or not: below this it is not. */
const VISIBLE = 128;
/** Browsers slow a frame under two hundredths of a second down to ten. */
const SHORTEST = 2;
/** A palette is no better for having looked at more pixels than this. */
const SAMPLE = 65_536;

/**
 * An animated GIF of whole frames, each with a palette of its own, each cleared before the next (so that what was
 * transparent stays so). `plays` is how often it runs, 0 for ever.
 */
export async function writeGif(
  output: OutputFile,
  size: { width: number; height: number },
  plays: number,
  frames: Iterable<Frame> | AsyncIterable<Frame>,
): Promise<void> {
  const encoder = GIFEncoder({ auto: false });
  const repeat = plays === 0 ? 0 : plays === 1 ? -1 : plays - 1;
  const hundredths = timer();
  let first = true;
  for await (const { rgba, delayMs } of frames) {
    const palette = paletteOf(rgba);
    const clear = palette.length;
    const index = clear === 0 ? new Uint8Array(rgba.length / 4) : applyPalette(rgba, palette, 'rgb565');
    for (let pixel = 0; pixel < index.length; pixel++) {
      if ((rgba[pixel * 4 + 3] ?? 0) < VISIBLE) index[pixel] = clear;
    }
    if (first) encoder.writeHeader();
    encoder.writeFrame(index, size.width, size.height, {
      first,
      palette: [...palette, [0, 0, 0]],
      transparent: true,
      transparentIndex: clear,
      delay: hundredths(delayMs) * 10,
      dispose: 2,
      repeat,
    });
    first = false;
    output.write(encoder.bytesView());
    encoder.stream.reset();
  }
  encoder.finish();
  output.write(encoder.bytesView());
}

/** Up to 255 colours of what is seen; the last place is kept for what is not. */
function paletteOf(rgba: Uint8Array) {
  const step = Math.max(1, Math.floor(rgba.length / 4 / SAMPLE));
  const seen = new Uint8Array(4 * Math.ceil(rgba.length / 4 / step));
  let length = 0;
  for (let at = 0; at < rgba.length; at += 4 * step) {
    if ((rgba[at + 3] ?? 0) < VISIBLE) continue;
    seen.set(rgba.subarray(at, at + 3), length);
    seen[length + 3] = 255;
    length += 4;
  }
  return length === 0 ? [] : quantize(seen.slice(0, length), 255, { format: 'rgb565' });
}

/** GIF counts in hundredths; what rounding takes from one frame is given to a later one, so that the whole keeps time. */
function timer(): (delayMs: number) => number {
  let due = 0;
  let given = 0;
  return (delayMs) => {
    due += delayMs / 10;
    const hundredths = Math.min(65_535, Math.max(SHORTEST, Math.round(due - given)));
    given += hundredths;
    return hundredths;
  };
}
