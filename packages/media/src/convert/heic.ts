import { checkAnimation, checkImage, ConversionError, MAX_FRAMES, MAX_PIXELS } from './budget.ts';
import type { Frame } from './canvas.ts';
import { writeGif } from './gif-write.ts';
import { openImageWriter } from './image-write.ts';
import type { ImageWriter } from './image-write.ts';
import { sequenceTrack } from './iso-boxes.ts';
import type { SequenceTrack } from './iso-boxes.ts';
import { HeifFile } from './libheif.ts';
import type { HeifImage, HeifPixels, Tiling } from './libheif.ts';
import type { OutputFile } from './output-file.ts';

export interface ConvertedHeic {
  type: 'image/gif' | 'image/png' | 'image/jpeg';
  note?: string;
}

/** Converts an image sequence to an animated GIF, any other file to a PNG or JPEG. */
export async function convertHeic(bytes: Buffer, output: OutputFile): Promise<ConvertedHeic> {
  const track = sequenceTrack(bytes, MAX_FRAMES);
  if (track === undefined) return convertStill(bytes, output);
  try {
    return await convertSequence(bytes, track, output);
  } catch (error) {
    // A sticker also contains a still image, for readers that cannot show its frames.
    if (output.size > 0) throw error;
    return { ...convertStill(bytes, output), note: 'only the still image of an animation is shown' };
  }
}

async function convertSequence(
  bytes: Buffer,
  track: SequenceTrack,
  output: OutputFile,
): Promise<ConvertedHeic> {
  const { width, height, delaysMs } = track;
  checkAnimation(width, height, delaysMs.length);
  let shown = 0;
  const frames = decodeFrames(new HeifFile(bytes), track, () => {
    shown += 1;
  });
  // Messages loops stickers, whatever their edit list says.
  await writeGif(output, { width, height }, 0, frames);
  if (shown === delaysMs.length) return { type: 'image/gif' };
  return {
    type: 'image/gif',
    note: `only ${shown} of the ${delaysMs.length} frames of an animation are shown`,
  };
}

/** Delays come from the file: the decoder reports that of the frame it read last, not of the one it returns. */
function* decodeFrames(file: HeifFile, track: SequenceTrack, onFrame: () => void): Generator<Frame> {
  const rgba = new Uint8Array(track.width * track.height * 4);
  // The list of delays is finite; the decoder follows an edit list that may repeat for ever.
  const frames = file.track(track.id);
  for (const delayMs of track.delaysMs) {
    const { value: pixels } = frames.next();
    if (!pixels) return;
    if (pixels.width !== track.width || pixels.height !== track.height) {
      throw new ConversionError('the animation is damaged');
    }
    for (let row = 0; row < pixels.height; row++) rgba.set(pixels.row(row), row * pixels.width * 4);
    if (pixels.isPremultiplied) divideByAlpha(rgba);
    onFrame();
    yield { rgba, delayMs };
  }
}

function convertStill(bytes: Buffer, output: OutputFile): ConvertedHeic {
  const file = new HeifFile(bytes);
  const image = file.primary();
  checkImage(image.width, image.height, MAX_PIXELS);
  const tiling = image.hasAlpha ? undefined : file.tiling(image);
  if (tiling === undefined) checkImage(image.width, image.height);
  const writer = openImageWriter(output, { ...image, profile: file.profile(image) });
  if (tiling) for (const row of rowsOfTiles(file, image, tiling)) writer.row(row);
  else writeWhole(file.decode(image, image.hasAlpha ? 'rgba' : 'rgb'), writer);
  writer.finish();
  return { type: writer.type };
}

function writeWhole(pixels: HeifPixels, writer: ImageWriter): void {
  for (let index = 0; index < pixels.height; index++) {
    const row = pixels.row(index);
    if (pixels.isPremultiplied) divideByAlpha(row);
    writer.row(row);
  }
}

/** A phone's photo is a grid of tiles. Decoding one row of tiles at a time bounds the memory for a large photo. */
function* rowsOfTiles(file: HeifFile, image: HeifImage, tiling: Tiling): Generator<Uint8Array> {
  const rowBytes = image.width * 3;
  const strip = new Uint8Array(rowBytes * tiling.tileHeight);
  for (let tileRow = 0; tileRow < tiling.rows; tileRow++) {
    for (let column = 0; column < tiling.columns; column++) {
      const left = column * tiling.tileWidth - tiling.left;
      copyTile(file.decodeTile(image, column, tileRow), strip, image.width, left);
    }
    const top = tileRow * tiling.tileHeight - tiling.top;
    const end = Math.min(tiling.tileHeight, image.height - top);
    for (let row = Math.max(0, -top); row < end; row++) {
      yield strip.subarray(row * rowBytes, (row + 1) * rowBytes);
    }
  }
}

/** Copies the part of a tile that is inside the image: tiles at the edges overlap them. */
function copyTile(tile: HeifPixels, strip: Uint8Array, width: number, left: number): void {
  const from = Math.max(0, -left);
  const to = Math.min(tile.width, width - left);
  if (from >= to) return;
  const rows = Math.min(tile.height, strip.length / (width * 3));
  for (let row = 0; row < rows; row++) {
    strip.set(tile.row(row).subarray(from * 3, to * 3), (row * width + left + from) * 3);
  }
}

function divideByAlpha(rgba: Uint8Array): void {
  for (let at = 0; at < rgba.length; at += 4) {
    const alpha = rgba[at + 3] ?? 0;
    if (alpha === 0 || alpha === 255) continue;
    for (let channel = at; channel < at + 3; channel++) {
      rgba[channel] = Math.min(255, Math.round(((rgba[channel] ?? 0) * 255) / alpha));
    }
  }
}
