import { decoder } from '@audio/decode-amr';

import { ConversionError, MAX_OUTPUT_BYTES } from './budget.ts';
import { Mp3Writer } from './mp3-write.ts';
import type { OutputFile } from './output-file.ts';

const WIDE = Buffer.from('#!AMR-WB\n');
const NARROW = Buffer.from('#!AMR\n');
/** Bytes of a frame by the mode in its first byte (RFC 4867); each frame is 20 ms. */
const WIDE_SIZES = [18, 24, 33, 37, 41, 47, 51, 59, 61, 6, 1, 1, 1, 1, 1, 1];
const NARROW_SIZES = [13, 14, 16, 18, 20, 21, 27, 32, 6, 6, 6, 6, 1, 1, 1, 1];
const BATCH_BYTES = 8192;

/** Converts the voice format of MMS and old phones, narrow or wide band, to MP3. */
export async function convertAmr(file: Buffer, output: OutputFile): Promise<{ type: 'audio/mpeg' }> {
  // A frame of silence is one byte that decodes to 640: a small file may hold days.
  if (decodedBytes(file) > MAX_OUTPUT_BYTES) throw new ConversionError('the recording is too long');
  const amr = await decoder();
  let writer: Mp3Writer | undefined;
  try {
    for (let at = 0; at < file.length; at += BATCH_BYTES) {
      const { channelData, sampleRate } = amr.decode(file.subarray(at, at + BATCH_BYTES));
      if (channelData.length === 0) continue;
      writer ??= await Mp3Writer.open(output, { sampleRate, channels: channelData.length });
      writer.samples(channelData);
    }
  } finally {
    amr.free();
  }
  if (writer === undefined) throw new ConversionError('the recording is damaged');
  writer.finish();
  return { type: 'audio/mpeg' };
}

function decodedBytes(file: Buffer): number {
  const isWide = file.subarray(0, WIDE.length).equals(WIDE);
  const sizes = isWide ? WIDE_SIZES : NARROW_SIZES;
  let frames = 0;
  for (let at = (isWide ? WIDE : NARROW).length; at < file.length; frames++) {
    at += sizes[((file[at] ?? 0) >> 3) & 15] ?? 1;
  }
  return frames * (isWide ? 640 : 320);
}
