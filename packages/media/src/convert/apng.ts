import { checkAnimation, ConversionError } from './budget.ts';
import { Canvas } from './canvas.ts';
import type { Frame } from './canvas.ts';
import { writeGif } from './gif-write.ts';
import type { OutputFile } from './output-file.ts';
import { pngChunks, pngHeader, readPixels } from './png-read.ts';
import type { PngHeader, PngPalette } from './png-read.ts';

interface Control {
  x: number;
  y: number;
  width: number;
  height: number;
  delayMs: number;
  dispose: 'keep' | 'clear' | 'restore';
  blend: 'over' | 'replace';
}

interface Animation {
  header: PngHeader;
  palette: PngPalette;
  plays: number;
  frames: { control: Control; data: Buffer[] }[];
}

/** Converts an animated PNG to an animated GIF. */
export async function convertApng(file: Buffer, output: OutputFile): Promise<{ type: 'image/gif' }> {
  const animation = readApng(file);
  const { width, height } = animation.header;
  checkAnimation(width, height, animation.frames.length);
  await writeGif(output, { width, height }, animation.plays, renderFrames(animation));
  return { type: 'image/gif' };
}

function readApng(file: Buffer): Animation {
  let header: PngHeader | undefined;
  let plays = 0;
  let isComplete = false;
  const palette: PngPalette = {};
  const frames: Animation['frames'] = [];
  for (const { type, data } of pngChunks(file)) {
    if (type === 'IHDR') header = pngHeader(data);
    else if (type === 'PLTE') palette.colours = data;
    else if (type === 'tRNS') palette.transparency = data;
    else if (type === 'acTL' && data.length >= 8) plays = data.readUInt32BE(4);
    else if (type === 'fcTL' && data.length >= 26) frames.push({ control: readControl(data), data: [] });
    // Image data before the first fcTL is a fallback for readers without animation, not a frame.
    else if (type === 'IDAT') frames.at(-1)?.data.push(data);
    else if (type === 'fdAT') frames.at(-1)?.data.push(data.subarray(4));
    else if (type === 'IEND') isComplete = true;
  }
  if (!header || frames.length === 0) throw new ConversionError('the animation is damaged');
  if (!isComplete) throw new ConversionError('the animation is truncated');
  return { header, palette, plays, frames };
}

function readControl(data: Buffer): Control {
  const numerator = data.readUInt16BE(20);
  const denominator = data.readUInt16BE(22) || 100;
  const dispose = data.readUInt8(24);
  return {
    width: data.readUInt32BE(4),
    height: data.readUInt32BE(8),
    x: data.readUInt32BE(12),
    y: data.readUInt32BE(16),
    delayMs: (1000 * numerator) / denominator,
    dispose: dispose === 1 ? 'clear' : dispose === 2 ? 'restore' : 'keep',
    blend: data.readUInt8(25) === 1 ? 'over' : 'replace',
  };
}

function* renderFrames({ header, palette, frames }: Animation): Generator<Frame> {
  const canvas = new Canvas(header.width, header.height);
  for (const [index, { control, data }] of frames.entries()) {
    if (!canvas.contains(control)) throw new ConversionError('the animation is damaged');
    const { width, height } = control;
    const rgba = readPixels(Buffer.concat(data), { ...header, width, height }, palette);
    // There is no earlier state to restore before the first frame.
    const restore = control.dispose === 'restore' && index > 0;
    const previous = restore ? canvas.copy(control) : undefined;
    canvas.draw({ ...control, rgba }, control.blend);
    yield { rgba: canvas.rgba, delayMs: control.delayMs };
    if (previous) canvas.draw(previous, 'replace');
    else if (control.dispose !== 'keep') canvas.clear(control);
  }
}
