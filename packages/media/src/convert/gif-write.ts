import { applyPalette, GIFEncoder, quantize } from 'gifenc/dist/gifenc.esm.js';
import type { Frame } from './canvas.ts';
import type { OutputFile } from './output-file.ts';

/** A GIF pixel is opaque or transparent: it is transparent below this alpha. */
const VISIBLE = 128;
/** Browsers show a frame of less than 20 ms for 100 ms. */
const MIN_HUNDREDTHS = 2;
/** The palette is made from this many pixels; more do not improve it. */
const MAX_SAMPLES = 65_536;

/**
 * Writes an animated GIF of whole frames, each with its own palette. Each frame is cleared before the next, so that
 * transparent pixels stay transparent. `plays` is the number of repetitions, 0 for endless.
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

/** Up to 255 colours of the opaque pixels; the last entry is reserved for transparency. */
function paletteOf(rgba: Uint8Array) {
  const step = Math.max(1, Math.floor(rgba.length / 4 / MAX_SAMPLES));
  const opaque = new Uint8Array(4 * Math.ceil(rgba.length / 4 / step));
  let length = 0;
  for (let at = 0; at < rgba.length; at += 4 * step) {
    if ((rgba[at + 3] ?? 0) < VISIBLE) continue;
    opaque.set(rgba.subarray(at, at + 3), length);
    opaque[length + 3] = 255;
    length += 4;
  }
  return length === 0 ? [] : quantize(opaque.slice(0, length), 255, { format: 'rgb565' });
}

/** GIF delays are in hundredths of a second; rounding errors are carried over, so that the total duration is kept. */
function timer(): (delayMs: number) => number {
  let due = 0;
  let given = 0;
  return (delayMs) => {
    due += delayMs / 10;
    const hundredths = Math.min(65_535, Math.max(MIN_HUNDREDTHS, Math.round(due - given)));
    given += hundredths;
    return hundredths;
  };
}
