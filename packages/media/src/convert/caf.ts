import { OpusDecoder } from 'opus-decoder';

import { ConversionError } from './budget.ts';
import { readCaf } from './caf-read.ts';
import type { CafSound } from './caf-read.ts';
import { OPUS_RATE, opusDuration, writeOggOpus } from './ogg-opus.ts';
import type { OutputFile } from './output-file.ts';
import { WavWriter } from './wav-write.ts';

/** What the CRM's own storage takes. A WAV plays everywhere; what would not fit goes as Ogg, which older Safari cannot play. */
const MOST_WAV_BYTES = 5_000_000;
const BATCH = 200;

/** A voice message in Apple's container as a file every browser plays. */
export async function convertCaf(
  file: Buffer,
  output: OutputFile,
): Promise<{ type: 'audio/wav' | 'audio/ogg' | 'audio/aac' }> {
  const sound = readCaf(file);
  if (sound.channels < 1 || sound.channels > 2)
    throw new ConversionError('the recording is neither mono nor stereo');
  switch (sound.format) {
    case 'opus':
      return { type: await convertOpus(sound, output) };
    case 'aac ':
      writeAac(sound, output);
      return { type: 'audio/aac' };
    case 'lpcm':
      writePcm(sound, output);
      return { type: 'audio/wav' };
    default:
      throw new ConversionError(
        `recordings of the kind ${JSON.stringify(sound.format.trim())} are not supported`,
      );
  }
}

async function convertOpus(sound: CafSound, output: OutputFile): Promise<'audio/wav' | 'audio/ogg'> {
  const { packets, channels } = sound;
  if (packets.length === 0) throw new ConversionError('the recording is empty');
  const sampleRate =
    ([8000, 12_000, 16_000, 24_000, 48_000] as const).find((rate) => rate === sound.sampleRate) ?? OPUS_RATE;
  const scale = OPUS_RATE / sound.sampleRate;
  const total = packets.reduce((sum, packet) => sum + opusDuration(packet), 0);
  const preSkip = Math.round(sound.priming * scale);
  const length = Math.max(0, Math.min(total - preSkip, (sound.valid ?? Infinity) * scale));
  const wavSamples = Math.floor((length * sampleRate) / OPUS_RATE);
  if (wavSamples * channels * 2 > MOST_WAV_BYTES) {
    writeOggOpus(output, packets, { channels, sampleRate, preSkip, length: Math.round(length) });
    return 'audio/ogg';
  }
  const decoder = new OpusDecoder({
    sampleRate,
    channels,
    streamCount: 1,
    coupledStreamCount: channels - 1,
    channelMappingTable: [0, 1].slice(0, channels),
  });
  await decoder.ready;
  const writer = new WavWriter(output, { sampleRate, channels });
  let skip = Math.floor((preSkip * sampleRate) / OPUS_RATE);
  let left = wavSamples;
  for (let at = 0; at < packets.length && left > 0; at += BATCH) {
    const { channelData, samplesDecoded } = decoder.decodeFrames(packets.slice(at, at + BATCH));
    const start = Math.min(skip, samplesDecoded);
    const end = Math.min(samplesDecoded, start + left);
    writer.samples(channelData, start, end);
    skip -= start;
    left -= end - start;
  }
  writer.finish();
  return 'audio/wav';
}

const AAC_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
];

/** The same packets as a stream, each with a header of seven bytes: low complexity, rate, channels, length. */
function writeAac({ packets, sampleRate, channels }: CafSound, output: OutputFile): void {
  const rate = AAC_RATES.indexOf(sampleRate);
  if (rate < 0 || packets.length === 0) throw new ConversionError('the recording is damaged');
  for (const packet of packets) {
    const size = packet.length + 7;
    if (size > 0x1fff) throw new ConversionError('the recording is damaged');
    const header = Buffer.from([
      0xff,
      0xf1,
      0x40 | (rate << 2) | (channels >> 2),
      ((channels & 3) << 6) | (size >> 11),
      (size >> 3) & 0xff,
      ((size & 7) << 5) | 0x1f,
      0xfc,
    ]);
    output.write(Buffer.concat([header, packet]));
  }
}

const IS_FLOAT = 1;
const IS_LITTLE = 2;

function writePcm(sound: CafSound, output: OutputFile): void {
  const { data, channels, bitsPerChannel: bits, sampleRate } = sound;
  const read = pcmReader(data, bits, sound.flags);
  const bytes = bits / 8;
  const writer = new WavWriter(output, { sampleRate: Math.round(sampleRate), channels });
  const frames = Math.floor(data.length / bytes / channels);
  for (let start = 0; start < frames; start += 4096) {
    const length = Math.min(4096, frames - start);
    writer.samples(
      Array.from({ length: channels }, (_, channel) =>
        Float32Array.from({ length }, (__, index) => read(((start + index) * channels + channel) * bytes)),
      ),
    );
  }
  writer.finish();
}

function pcmReader(data: Buffer, bits: number, flags: number): (at: number) => number {
  const isLittle = (flags & IS_LITTLE) !== 0;
  if ((flags & IS_FLOAT) !== 0) {
    if (bits === 32) return (at) => (isLittle ? data.readFloatLE(at) : data.readFloatBE(at));
    if (bits === 64) return (at) => (isLittle ? data.readDoubleLE(at) : data.readDoubleBE(at));
  } else if ([8, 16, 24, 32].includes(bits)) {
    const bytes = bits / 8;
    const most = 2 ** (bits - 1);
    return (at) => (isLittle ? data.readIntLE(at, bytes) : data.readIntBE(at, bytes)) / most;
  }
  throw new ConversionError('the recording is of an unknown kind');
}
