import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import decodeWebp, { init } from '@jsquash/webp/decode.js';

import { checkAnimation, checkPicture, Refusal } from './budget.ts';
import { Canvas } from './canvas.ts';
import type { Frame } from './canvas.ts';
import { writeGif } from './gif-write.ts';
import type { OutputFile } from './output-file.ts';
import { PngWriter } from './png-write.ts';
import { withMemoryBound } from './wasm-program.ts';

const MEMORY_BYTES = 128 * 1024 * 1024;

interface Chunk {
  type: string;
  data: Buffer;
}

interface AnimationFrame {
  x: number;
  y: number;
  width: number;
  height: number;
  delayMs: number;
  blend: 'over' | 'replace';
  isCleared: boolean;
  chunks: Chunk[];
}

/** A still WEBP as a PNG, an animated one as a GIF. */
export async function convertWebp(file: Buffer, output: OutputFile): Promise<'image/png' | 'image/gif'> {
  const path = createRequire(import.meta.url).resolve('@jsquash/webp/codec/dec/webp_dec.wasm');
  await init({ wasmBinary: withMemoryBound(readFileSync(path), MEMORY_BYTES) });
  const chunks = [...riffChunks(file.subarray(12))];
  const frames = chunks.filter(({ type }) => type === 'ANMF').map(({ data }) => readFrame(data));
  if (frames.length > 1) {
    await writeAnimation(chunks, frames, output);
    return 'image/gif';
  }
  const [only] = frames;
  if (only) await writeStill(only.chunks, asFile(only.chunks, only), output);
  else await writeStill(chunks, file, output);
  return 'image/png';
}

async function writeStill(chunks: Chunk[], file: Buffer, output: OutputFile): Promise<void> {
  const { width, height, hasAlpha } = stillSize(chunks);
  checkPicture(width, height);
  const { data } = await decode(file, { width, height });
  const profile = chunks.find(({ type }) => type === 'ICCP')?.data;
  const writer = new PngWriter(output, { width, height }, hasAlpha ? 4 : 3, profile);
  const rgb = new Uint8Array(width * 3);
  for (let row = 0; row < height; row++) {
    const line = new Uint8Array(data.buffer, data.byteOffset + row * width * 4, width * 4);
    if (hasAlpha) {
      writer.row(line);
      continue;
    }
    for (let x = 0; x < width; x++) rgb.set(line.subarray(x * 4, x * 4 + 3), x * 3);
    writer.row(rgb);
  }
  writer.finish();
}

async function writeAnimation(chunks: Chunk[], frames: AnimationFrame[], output: OutputFile): Promise<void> {
  const extended = chunks.find(({ type }) => type === 'VP8X')?.data;
  if (!extended || extended.length < 10) throw new Refusal('the animation is damaged');
  const size = { width: extended.readUIntLE(4, 3) + 1, height: extended.readUIntLE(7, 3) + 1 };
  checkAnimation(size.width, size.height, frames.length);
  const animation = chunks.find(({ type }) => type === 'ANIM')?.data;
  const plays = animation && animation.length >= 6 ? animation.readUInt16LE(4) : 0;
  await writeGif(output, size, plays, play(new Canvas(size.width, size.height), frames));
}

async function* play(canvas: Canvas, frames: AnimationFrame[]): AsyncGenerator<Frame> {
  for (const frame of frames) {
    if (!canvas.contains(frame)) throw new Refusal('the animation is damaged');
    const { data } = await decode(asFile(frame.chunks, frame), frame);
    const rgba = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    canvas.draw({ ...frame, rgba }, frame.blend);
    yield { rgba: canvas.rgba, delayMs: frame.delayMs };
    if (frame.isCleared) canvas.clear(frame);
  }
}

/** The decoder wants a file: a frame's chunks get a header of their own. */
function asFile(chunks: Chunk[], size: { width: number; height: number }): Buffer {
  const parts: Chunk[] = chunks.filter(({ type }) => ['ALPH', 'VP8 ', 'VP8L'].includes(type));
  if (parts.some(({ type }) => type === 'ALPH')) {
    const extended = Buffer.alloc(10);
    extended[0] = 0x10;
    extended.writeUIntLE(size.width - 1, 4, 3);
    extended.writeUIntLE(size.height - 1, 7, 3);
    parts.unshift({ type: 'VP8X', data: extended });
  }
  return writeChunk({ type: 'RIFF', data: Buffer.concat([Buffer.from('WEBP'), ...parts.map(writeChunk)]) });
}

async function decode(file: Buffer, size: { width: number; height: number }) {
  const picture = await decodeWebp(file).catch((cause: unknown) => {
    throw new Refusal('the picture is damaged', { cause });
  });
  if (picture.width !== size.width || picture.height !== size.height) {
    throw new Refusal('the picture is damaged');
  }
  return picture;
}

function writeChunk({ type, data }: Chunk): Buffer {
  const head = Buffer.alloc(8);
  head.write(type, 'latin1');
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
}

function* riffChunks(bytes: Buffer): Generator<Chunk> {
  for (let at = 0; at + 8 <= bytes.length;) {
    const length = bytes.readUInt32LE(at + 4);
    if (at + 8 + length > bytes.length) throw new Refusal('the picture is cut short');
    yield { type: bytes.toString('latin1', at, at + 4), data: bytes.subarray(at + 8, at + 8 + length) };
    at += 8 + length + (length % 2);
  }
}

function readFrame(data: Buffer): AnimationFrame {
  if (data.length < 16) throw new Refusal('the animation is damaged');
  const flags = data.readUInt8(15);
  return {
    x: data.readUIntLE(0, 3) * 2,
    y: data.readUIntLE(3, 3) * 2,
    width: data.readUIntLE(6, 3) + 1,
    height: data.readUIntLE(9, 3) + 1,
    delayMs: data.readUIntLE(12, 3),
    blend: flags & 2 ? 'replace' : 'over',
    isCleared: (flags & 1) === 1,
    chunks: [...riffChunks(data.subarray(16))],
  };
}

/** Of the picture itself, not of the canvas the header speaks of. */
function stillSize(chunks: Chunk[]): { width: number; height: number; hasAlpha: boolean } {
  const lossless = chunks.find(({ type }) => type === 'VP8L')?.data;
  if (lossless && lossless.length >= 5) {
    const bits = lossless.readUInt32LE(1);
    return {
      width: (bits & 0x3fff) + 1,
      height: ((bits >>> 14) & 0x3fff) + 1,
      hasAlpha: ((bits >>> 28) & 1) === 1,
    };
  }
  const lossy = chunks.find(({ type }) => type === 'VP8 ')?.data;
  if (lossy && lossy.length >= 10) {
    return {
      width: lossy.readUInt16LE(6) & 0x3fff,
      height: lossy.readUInt16LE(8) & 0x3fff,
      hasAlpha: chunks.some(({ type }) => type === 'ALPH'),
    };
  }
  throw new Refusal('the picture is damaged');
}
