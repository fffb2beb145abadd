import { checkAnimation, checkPicture, MAX_FRAMES, MAX_PIXELS, ConversionError } from './budget.ts';
import type { Frame } from './canvas.ts';
import { writeGif } from './gif-write.ts';
import { sequenceTrack } from './iso-boxes.ts';
import type { SequenceTrack } from './iso-boxes.ts';
import { JpegWriter } from './jpeg-write.ts';
import { HeifFile } from './libheif.ts';
import type { HeifPicture, HeifPixels, Tiling } from './libheif.ts';
import type { OutputFile } from './output-file.ts';
import { PngWriter } from './png-write.ts';

const PHOTO_QUALITY = 85;
const LONGEST_JPEG_SIDE = 65_535;

export interface ConvertedHeic {
  type: 'image/gif' | 'image/png' | 'image/jpeg';
  note?: string;
}

/** A sequence as an animated GIF, a cut-out as a PNG with its alpha, a photo as a JPEG. */
export async function convertHeic(bytes: Buffer, output: OutputFile): Promise<ConvertedHeic> {
  const track = sequenceTrack(bytes, MAX_FRAMES);
  if (track === undefined) return convertStill(bytes, output);
  try {
    return await convertSequence(bytes, track, output);
  } catch (error) {
    // A sticker brings a still picture along, for when its frames cannot be shown.
    if (output.size > 0) throw error;
    return { ...convertStill(bytes, output), note: 'only the still picture of an animation is shown' };
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
  const frames = framesOf(new HeifFile(bytes), track, () => {
    shown += 1;
  });
  // Stickers run for ever, whatever their edit list says.
  await writeGif(output, { width, height }, 0, frames);
  if (shown === delaysMs.length) return { type: 'image/gif' };
  return {
    type: 'image/gif',
    note: `only ${shown} of the ${delaysMs.length} pictures of an animation are shown`,
  };
}

/** Times come from the file: the decoder reports those of the picture it read last, not of the one it shows. */
function* framesOf(file: HeifFile, track: SequenceTrack, onFrame: () => void): Generator<Frame> {
  const rgba = new Uint8Array(track.width * track.height * 4);
  // An edit list that repeats for ever makes the decoder do so too; a list of times has an end.
  const pictures = file.track(track.id);
  for (const delayMs of track.delaysMs) {
    const { value: pixels } = pictures.next();
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
  const picture = file.primary();
  checkPicture(picture.width, picture.height, MAX_PIXELS);
  if (picture.hasAlpha) {
    writeCutOut(file, picture, output);
    return { type: 'image/png' };
  }
  writePhoto(file, picture, output);
  return { type: 'image/jpeg' };
}

function writeCutOut(file: HeifFile, picture: HeifPicture, output: OutputFile): void {
  checkPicture(picture.width, picture.height);
  const profile = file.profile(picture);
  const pixels = file.decode(picture, 'rgba');
  const writer = new PngWriter(output, pixels, 4, profile);
  for (let row = 0; row < pixels.height; row++) {
    const line = pixels.row(row);
    if (pixels.isPremultiplied) divideByAlpha(line);
    writer.row(line);
  }
  writer.finish();
}

function writePhoto(file: HeifFile, picture: HeifPicture, output: OutputFile): void {
  if (Math.max(picture.width, picture.height) > LONGEST_JPEG_SIDE) {
    throw new ConversionError(`the picture is too large (${picture.width} × ${picture.height})`);
  }
  const options = { quality: PHOTO_QUALITY, profile: file.profile(picture) };
  const writer = new JpegWriter(output, picture, options);
  const tiling = file.tiling(picture);
  if (tiling) {
    for (const line of rowsOfTiles(file, picture, tiling)) writer.row(line);
  } else {
    checkPicture(picture.width, picture.height);
    const pixels = file.decode(picture, 'rgb');
    for (let row = 0; row < pixels.height; row++) writer.row(pixels.row(row));
  }
  writer.finish();
}

/** A phone's photo is a grid of small pictures: one row of them at a time keeps a large photo in little memory. */
function* rowsOfTiles(file: HeifFile, picture: HeifPicture, tiling: Tiling): Generator<Uint8Array> {
  const rowBytes = picture.width * 3;
  const strip = new Uint8Array(rowBytes * tiling.tileHeight);
  for (let tileRow = 0; tileRow < tiling.rows; tileRow++) {
    for (let column = 0; column < tiling.columns; column++) {
      const left = column * tiling.tileWidth - tiling.left;
      copyTile(file.decodeTile(picture, column, tileRow), strip, picture.width, left);
    }
    const top = tileRow * tiling.tileHeight - tiling.top;
    const end = Math.min(tiling.tileHeight, picture.height - top);
    for (let row = Math.max(0, -top); row < end; row++) {
      yield strip.subarray(row * rowBytes, (row + 1) * rowBytes);
    }
  }
}

/** Only what lies within the picture: the tiles at its edges reach beyond. */
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
