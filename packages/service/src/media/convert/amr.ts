import { decoder } from '@audio/decode-amr';

import { Refusal } from './budget.ts';
import type { OutputFile } from './output-file.ts';
import { WavWriter } from './wav-write.ts';

/** A frame of silence is one byte that becomes 640: small pieces keep what they unpack to small. */
const PIECE_BYTES = 8192;

/** The voice format of SMS and old phones, narrow or wide band, as a WAV. */
export async function convertAmr(file: Buffer, output: OutputFile): Promise<void> {
  const amr = await decoder();
  let writer: WavWriter | undefined;
  for (let at = 0; at < file.length; at += PIECE_BYTES) {
    const { channelData, sampleRate } = amr.decode(file.subarray(at, at + PIECE_BYTES));
    if (channelData.length === 0) continue;
    writer ??= new WavWriter(output, { sampleRate, channels: channelData.length });
    writer.samples(channelData);
  }
  if (writer === undefined) throw new Refusal('the recording is damaged');
  writer.finish();
}
