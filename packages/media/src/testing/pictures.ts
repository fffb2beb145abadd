import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decode as decodePng } from 'fast-png';
import { decode as decodeJpegFile } from 'jpeg-js';

import { OutputFile } from '../convert/output-file.ts';

export const fixture = (name: string): Buffer =>
  readFileSync(new URL(`../fixtures/${name}`, import.meta.url));

/** Runs what writes into an output file, and gives back the file's bytes and what it answered. */
export async function written<T>(
  write: (output: OutputFile) => T | Promise<T>,
): Promise<{ bytes: Buffer; answer: T }> {
  const directory = await mkdtemp(join(tmpdir(), 'footbridge-'));
  try {
    const path = join(directory, 'output');
    const output = new OutputFile(path);
    try {
      const answer = await write(output);
      return { bytes: await readFile(path), answer };
    } finally {
      output.close();
    }
  } finally {
    await rm(directory, { recursive: true });
  }
}

export interface Picture {
  width: number;
  height: number;
  channels: number;
  rgba: Uint8Array;
}

/** A PNG of eight bits, read by somebody else's decoder. */
export function readPng(bytes: Buffer): Picture & { profile: Uint8Array | undefined } {
  const { width, height, channels, data, iccEmbeddedProfile } = decodePng(bytes, { checkCrc: true });
  const rgba = Uint8Array.from({ length: width * height * 4 }, (_, index) =>
    index % 4 < channels ? (data[Math.floor(index / 4) * channels + (index % 4)] ?? 0) : 255,
  );
  return { width, height, channels, rgba, profile: iccEmbeddedProfile?.profile };
}

export function readJpeg(bytes: Buffer): Picture {
  const { width, height, data } = decodeJpegFile(bytes, { useTArray: true, maxMemoryUsageInMB: 512 });
  return { width, height, channels: 3, rgba: data };
}

/** The mean difference of two pictures' samples, as far as they can be seen. */
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

/** Turns a picture by a quarter, counter-clockwise. */
export function turned({ width, height, channels, rgba }: Picture): Picture {
  const out = new Uint8Array(rgba.length);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const from = (y * width + x) * 4;
      out.set(rgba.subarray(from, from + 4), ((width - 1 - x) * height + y) * 4);
    }
  }
  return { width: height, height: width, channels, rgba: out };
}
