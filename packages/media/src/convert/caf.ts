import { ConversionError } from './budget.ts';
import { readCaf } from './caf-read.ts';
import type { CafRecording } from './caf-read.ts';
import { isAacRate, writeM4a } from './m4a-write.ts';
import { Mp3Writer } from './mp3-write.ts';
import { convertOpus } from './opus.ts';
import type { OutputFile } from './output-file.ts';

const BATCH_SAMPLES = 4096;
const AAC_SAMPLES_PER_PACKET = 1024;
const FLAG_FLOAT = 1;
const FLAG_LITTLE_ENDIAN = 2;

/** Converts a voice message in Apple's container: Opus and PCM to MP3, AAC to M4A. */
export async function convertCaf(
  file: Buffer,
  output: OutputFile,
): Promise<{ type: 'audio/mpeg' | 'audio/ogg' | 'audio/mp4' }> {
  const recording = readCaf(file);
  if (recording.channels < 1 || recording.channels > 2)
    throw new ConversionError('the recording is neither mono nor stereo');
  switch (recording.format) {
    case 'opus':
      return convertOpus(recording, output);
    case 'aac ':
      convertAac(recording, output);
      return { type: 'audio/mp4' };
    case 'lpcm':
      await convertPcm(recording, output);
      return { type: 'audio/mpeg' };
    default:
      throw new ConversionError(
        `recordings in the format ${JSON.stringify(recording.format.trim())} are not supported`,
      );
  }
}

function convertAac(recording: CafRecording, output: OutputFile): void {
  const { packets, sampleRate, priming } = recording;
  if (!isAacRate(sampleRate) || packets.length === 0) throw new ConversionError('the recording is damaged');
  const samplesPerPacket = recording.samplesPerPacket || AAC_SAMPLES_PER_PACKET;
  const playable = Math.max(0, packets.length * samplesPerPacket - priming);
  const valid = Math.min(playable, recording.valid ?? playable);
  writeM4a(output, { ...recording, samplesPerPacket, valid });
}

async function convertPcm(recording: CafRecording, output: OutputFile): Promise<void> {
  const { data, channels, bitsPerChannel: bits, sampleRate } = recording;
  const read = pcmReader(data, bits, recording.flags);
  const bytes = bits / 8;
  const writer = await Mp3Writer.open(output, { sampleRate: Math.round(sampleRate), channels });
  const frames = Math.floor(data.length / bytes / channels);
  for (let start = 0; start < frames; start += BATCH_SAMPLES) {
    const length = Math.min(BATCH_SAMPLES, frames - start);
    writer.samples(
      Array.from({ length: channels }, (_, channel) =>
        Float32Array.from({ length }, (__, index) => read(((start + index) * channels + channel) * bytes)),
      ),
    );
  }
  writer.finish();
}

/** Returns a reader of the sample at an offset, as a number from -1 to 1. */
function pcmReader(data: Buffer, bits: number, flags: number): (at: number) => number {
  const isLittle = (flags & FLAG_LITTLE_ENDIAN) !== 0;
  if ((flags & FLAG_FLOAT) !== 0) {
    if (bits === 32) return (at) => (isLittle ? data.readFloatLE(at) : data.readFloatBE(at));
    if (bits === 64) return (at) => (isLittle ? data.readDoubleLE(at) : data.readDoubleBE(at));
  } else if ([8, 16, 24, 32].includes(bits)) {
    const bytes = bits / 8;
    const scale = 2 ** (bits - 1);
    return (at) => (isLittle ? data.readIntLE(at, bytes) : data.readIntBE(at, bytes)) / scale;
  }
  throw new ConversionError('the recording has an unknown sample format');
}
