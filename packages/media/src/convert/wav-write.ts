import type { OutputFile } from './output-file.ts';

export interface SoundFormat {
  sampleRate: number;
  channels: number;
}

const HEADER_BYTES = 44;

/** A WAV of 16-bit samples, as they come; the sizes in its header are filled in at the end. */
export class WavWriter {
  readonly #output: OutputFile;

  constructor(output: OutputFile, { sampleRate, channels }: SoundFormat) {
    this.#output = output;
    const header = Buffer.alloc(HEADER_BYTES);
    header.write('RIFF    WAVEfmt ', 'latin1');
    header.writeUInt32LE(16, 16);
    header.writeUInt16LE(1, 20);
    header.writeUInt16LE(channels, 22);
    header.writeUInt32LE(sampleRate, 24);
    header.writeUInt32LE(sampleRate * channels * 2, 28);
    header.writeUInt16LE(channels * 2, 32);
    header.writeUInt16LE(16, 34);
    header.write('data', 36, 'latin1');
    output.write(header);
  }

  /** One array per channel, -1 to 1. */
  samples(channels: Float32Array[], start = 0, end = channels[0]?.length ?? 0): void {
    const bytes = Buffer.alloc(Math.max(0, end - start) * channels.length * 2);
    let at = 0;
    for (let index = start; index < end; index++) {
      for (const channel of channels) {
        const value = Math.round((channel[index] ?? 0) * 32_767);
        at = bytes.writeInt16LE(Math.max(-32_768, Math.min(32_767, value)), at);
      }
    }
    this.#output.write(bytes);
  }

  finish(): void {
    const size = Buffer.alloc(4);
    size.writeUInt32LE(this.#output.size - 8);
    this.#output.patch(4, size);
    size.writeUInt32LE(this.#output.size - HEADER_BYTES);
    this.#output.patch(40, size);
  }
}
