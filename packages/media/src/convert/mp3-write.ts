import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createEncoder } from 'wasm-media-encoders/esnext';

import { ConversionError } from './budget.ts';
import type { OutputFile } from './output-file.ts';
import { compiledOnce, withMemoryBound } from './wasm-program.ts';

export interface AudioFormat {
  sampleRate: number;
  channels: number;
}

const MEMORY_BYTES = 32 * 1024 * 1024;
const BATCH_SAMPLES = 24_000;
const SAMPLE_RATES = [8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000] as const;
const MAX_SAMPLE_RATE = 192_000;

/**
 * Enough for speech. The bitrate is constant: a player then knows the duration from the size, without the header that
 * a variable one needs.
 */
function bitratePerChannel(sampleRate: number): 24 | 32 | 48 | 64 {
  if (sampleRate <= 8000) return 24;
  if (sampleRate <= 16_000) return 32;
  return sampleRate <= 24_000 ? 48 : 64;
}

export const mp3Bytes = (seconds: number, { sampleRate, channels }: AudioFormat): number =>
  seconds * bitratePerChannel(sampleRate) * channels * 125;

/** An MP3, encoded as the samples arrive. */
export class Mp3Writer {
  readonly #output: OutputFile;
  readonly #encoder: Encoder;

  static async open(output: OutputFile, { sampleRate, channels }: AudioFormat): Promise<Mp3Writer> {
    if (!(sampleRate >= 4000 && sampleRate <= MAX_SAMPLE_RATE))
      throw new ConversionError(`recordings at ${sampleRate} Hz are not supported`);
    if (channels !== 1 && channels !== 2)
      throw new ConversionError('the recording is neither mono nor stereo');
    const encoder = await newEncoder();
    encoder.configure({
      sampleRate,
      channels,
      bitrate: channels === 1 ? bitratePerChannel(sampleRate) : STEREO[bitratePerChannel(sampleRate)],
      outputSampleRate: SAMPLE_RATES.findLast((rate) => rate <= sampleRate) ?? SAMPLE_RATES[0],
    });
    return new Mp3Writer(output, encoder);
  }

  private constructor(output: OutputFile, encoder: Encoder) {
    this.#output = output;
    this.#encoder = encoder;
  }

  /** `channels` has one array per channel, with samples from -1 to 1. */
  samples(channels: readonly Float32Array[], start = 0, end = channels[0]?.length ?? 0): void {
    for (let at = start; at < end; at += BATCH_SAMPLES) {
      const until = Math.min(end, at + BATCH_SAMPLES);
      this.#output.write(this.#encoder.encode(channels.map((samples) => samples.subarray(at, until))));
    }
  }

  finish(): void {
    this.#output.write(this.#encoder.finalize());
  }
}

const STEREO = { 24: 48, 32: 64, 48: 96, 64: 128 } as const;

type Encoder = Awaited<ReturnType<typeof newEncoder>>;

const encoderModule = compiledOnce(() => {
  const path = createRequire(import.meta.url).resolve('wasm-media-encoders/wasm/mp3');
  return withMemoryBound(readFileSync(path), MEMORY_BYTES);
});

function newEncoder() {
  return createEncoder('audio/mpeg', encoderModule());
}
