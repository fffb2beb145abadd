import { MPEGDecoder } from 'mpg123-decoder';

export interface Mp3 {
  sampleRate: number;
  channels: number;
  seconds: number;
  samples: Float32Array;
}

/** Reads an MP3 with an independent decoder. The encoder adds up to a quarter of a second of silence. */
export async function readMp3(file: Buffer): Promise<Mp3> {
  const decoder = new MPEGDecoder();
  await decoder.ready;
  const { channelData, sampleRate, samplesDecoded, errors } = decoder.decode(file);
  decoder.free();
  if (errors.length > 0) throw new Error(`${errors.length} frames of the MP3 are damaged`);
  const isMono = file.readUInt8(3) >> 6 === 3;
  return {
    sampleRate,
    channels: isMono ? 1 : 2,
    seconds: samplesDecoded / sampleRate,
    samples: channelData[0] ?? new Float32Array(),
  };
}
