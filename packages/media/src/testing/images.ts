import { readFileSync } from 'node:fs';
import { decode as decodePng } from 'fast-png';
import { decode as decodeJpegFile } from 'jpeg-js';

import { OutputFile } from '../convert/output-file.ts';

export const fixture = (name: string): Buffer =>
  readFileSync(new URL(`../fixtures/${name}`, import.meta.url));

/** Runs a converter and returns the bytes that it writes and its result. */
export async function written<T>(
  write: (output: OutputFile) => T | Promise<T>,
): Promise<{ bytes: Buffer; result: T }> {
  const parts: Buffer[] = [];
  const result = await write(new OutputFile((part) => parts.push(Buffer.from(part))));
  return { bytes: Buffer.concat(parts), result };
}

export interface Image {
  width: number;
  height: number;
  channels: number;
  rgba: Uint8Array;
}

/** Reads a PNG of eight bits with an independent decoder. */
export function readPng(bytes: Buffer): Image & { profile: Uint8Array | undefined } {
  const { width, height, channels, data, iccEmbeddedProfile } = decodePng(bytes, { checkCrc: true });
  const rgba = Uint8Array.from({ length: width * height * 4 }, (_, index) =>
    index % 4 < channels ? (data[Math.floor(index / 4) * channels + (index % 4)] ?? 0) : 255,
  );
  return { width, height, channels, rgba, profile: iccEmbeddedProfile?.profile };
}

export function readJpeg(bytes: Buffer): Image {
  const { width, height, data } = decodeJpegFile(bytes, { useTArray: true, maxMemoryUsageInMB: 512 });
  return { width, height, channels: 3, rgba: data };
}

/** The mean difference of the samples of two images; the colour of transparent pixels does not count. */
export function difference(one: Uint8Array, other: Uint8Array): number {
  if (one.length !== other.length) return Infinity;
  let sum = 0;
  for (let at = 0; at < one.length; at += 4) {
    const alpha = one[at + 3] ?? 0;
    sum += Math.abs(alpha - (other[at + 3] ?? 0));
    if (alpha === 0) continue;
    for (let channel = at; channel < at + 3; channel++)
      sum += Math.abs((one[channel] ?? 0) - (other[channel] ?? 0));
  }
  return sum / one.length;
}

export const pixelAt = (
  { width, rgba }: { width: number; rgba: Uint8Array },
  x: number,
  y: number,
): number[] => [...rgba.subarray((y * width + x) * 4, (y * width + x) * 4 + 4)];

/** Rotates an image by 90° counter-clockwise. */
export function rotated({ width, height, channels, rgba }: Image): Image {
  const out = new Uint8Array(rgba.length);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const from = (y * width + x) * 4;
      out.set(rgba.subarray(from, from + 4), ((width - 1 - x) * height + y) * 4);
    }
  }
  return { width: height, height: width, channels, rgba: out };
}
