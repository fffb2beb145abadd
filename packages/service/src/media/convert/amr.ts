import { Refusal } from './budget.ts';
import type { OutputFile } from './output-file.ts';
import { WavWriter } from './wav-write.ts';

/** The voice format of SMS and old phones, narrow or wide band, as a WAV. */
export async function convertAmr(file: Buffer, output: OutputFile): Promise<void> {
  const { default: decode } = await import('@audio/decode-amr').catch((cause: unknown) => {
    throw new Refusal('this installation has no decoder for AMR', { cause });
  });
  const { channelData, sampleRate } = await decode(file);
  if (!channelData[0]?.length) throw new Refusal('the recording is damaged');
  const writer = new WavWriter(output, { sampleRate, channels: channelData.length });
  writer.samples(channelData);
  writer.finish();
}
