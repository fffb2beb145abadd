import { decoder } from '@audio/decode-amr';

import { MAX_OUTPUT_BYTES, ConversionError } from './budget.ts';
import type { OutputFile } from './output-file.ts';
import { WavWriter } from './wav-write.ts';

const WIDE = Buffer.from('#!AMR-WB\n');
const NARROW = Buffer.from('#!AMR\n');
/** Bytes of a frame by the mode in its first one (RFC 4867); each frame is 20 ms. */
const WIDE_SIZES = [18, 24, 33, 37, 41, 47, 51, 59, 61, 6, 1, 1, 1, 1, 1, 1];
const NARROW_SIZES = [13, 14, 16, 18, 20, 21, 27, 32, 6, 6, 6, 6, 1, 1, 1, 1];
const PIECE_BYTES = 8192;

/** The voice format of SMS and old phones, narrow or wide band, as a WAV. */
export async function convertAmr(file: Buffer, output: OutputFile): Promise<{ type: 'audio/wav' }> {
  // A frame of silence is one byte that becomes 640: a small file may hold days.
  if (unpackedBytes(file) > MAX_OUTPUT_BYTES) throw new ConversionError('the recording is too long');
  const amr = await decoder();
  let writer: WavWriter | undefined;
  for (let at = 0; at < file.length; at += PIECE_BYTES) {
    const { channelData, sampleRate } = amr.decode(file.subarray(at, at + PIECE_BYTES));
    if (channelData.length === 0) continue;
    writer ??= new WavWriter(output, { sampleRate, channels: channelData.length });
    writer.samples(channelData);
  }
  if (writer === undefined) throw new ConversionError('the recording is damaged');
  writer.finish();
  return { type: 'audio/wav' };
}

function unpackedBytes(file: Buffer): number {
  const isWide = file.subarray(0, WIDE.length).equals(WIDE);
  const sizes = isWide ? WIDE_SIZES : NARROW_SIZES;
  let frames = 0;
  for (let at = (isWide ? WIDE : NARROW).length; at < file.length; frames++) {
    at += sizes[((file[at] ?? 0) >> 3) & 15] ?? 1;
  }
  return frames * (isWide ? 640 : 320);
}
