import { OpusDecoder } from 'opus-decoder';

import { ConversionError } from './budget.ts';
import type { CafRecording } from './caf-read.ts';
import { Mp3Writer, mp3Bytes } from './mp3-write.ts';
import { OPUS_RATE, opusDuration, writeOggOpus } from './ogg-opus.ts';
import type { OutputFile } from './output-file.ts';

/** The CRM's storage takes files up to 5 MB: about 14 minutes of speech. It also bounds the time that encoding takes. */
const MAX_MP3_BYTES = 5_000_000;
const BATCH_PACKETS = 200;

/**
 * Converts to MP3, which every browser plays. A recording too long for that keeps its packets in an Ogg file, which
 * needs no encoding but plays in Safari from version 18.4 on only.
 */
export async function convertOpus(
  recording: CafRecording,
  output: OutputFile,
): Promise<{ type: 'audio/mpeg' | 'audio/ogg' }> {
  const { packets, channels } = recording;
  if (packets.length === 0) throw new ConversionError('the recording is empty');
  const sampleRate =
    ([8000, 12_000, 16_000, 24_000, 48_000] as const).find((rate) => rate === recording.sampleRate) ??
    OPUS_RATE;
  const scale = OPUS_RATE / recording.sampleRate;
  const total = packets.reduce((sum, packet) => sum + opusDuration(packet), 0);
  const preSkip = Math.round(recording.priming * scale);
  const length = Math.max(0, Math.min(total - preSkip, (recording.valid ?? Infinity) * scale));
  if (mp3Bytes(length / OPUS_RATE, { sampleRate, channels }) > MAX_MP3_BYTES) {
    writeOggOpus(output, packets, { channels, sampleRate, preSkip, length: Math.round(length) });
    return { type: 'audio/ogg' };
  }
  const decoder = new OpusDecoder({
    sampleRate,
    channels,
    streamCount: 1,
    coupledStreamCount: channels - 1,
    channelMappingTable: [0, 1].slice(0, channels),
  });
  await decoder.ready;
  try {
    const writer = await Mp3Writer.open(output, { sampleRate, channels });
    let skip = Math.floor((preSkip * sampleRate) / OPUS_RATE);
    let left = Math.floor((length * sampleRate) / OPUS_RATE);
    for (let at = 0; at < packets.length && left > 0; at += BATCH_PACKETS) {
      const { channelData, samplesDecoded } = decoder.decodeFrames(packets.slice(at, at + BATCH_PACKETS));
      const start = Math.min(skip, samplesDecoded);
      const end = Math.min(samplesDecoded, start + left);
      writer.samples(channelData, start, end);
      skip -= start;
      left -= end - start;
    }
    writer.finish();
  } finally {
    decoder.free();
  }
  return { type: 'audio/mpeg' };
}
