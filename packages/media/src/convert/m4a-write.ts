import type { OutputFile } from './output-file.ts';

export interface AacRecording {
  packets: readonly Uint8Array[];
  sampleRate: number;
  channels: number;
  samplesPerPacket: number;
  /** Samples at the beginning that only prime the decoder. */
  priming: number;
  /** Samples to play after those. */
  valid: number;
}

/** The index is the code of the rate in an AAC configuration. */
const AAC_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
];

export const isAacRate = (sampleRate: number) => AAC_RATES.includes(sampleRate);

/** Puts AAC-LC packets into an M4A file (ISO 14496-12 and -14) without decoding them. */
export function writeM4a(output: OutputFile, recording: AacRecording): void {
  const type = box('ftyp', latin1('M4A '), uint32(0), latin1('M4A mp42isom'));
  const data = recording.packets.reduce((sum, packet) => sum + packet.length, 0);
  const indexBytes = movie(recording, 0).length;
  output.write(type);
  output.write(movie(recording, type.length + indexBytes + 8));
  output.write(Buffer.concat([uint32(data + 8), latin1('mdat')]));
  for (const packet of recording.packets) output.write(packet);
}

const MATRIX = Buffer.concat([0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000].map(uint32));
const FULL_VOLUME = uint16(0x0100);

function movie(recording: AacRecording, dataOffset: number): Buffer {
  const { sampleRate, valid } = recording;
  return box(
    'moov',
    fullBox(
      'mvhd',
      0,
      zeros(8),
      uint32(sampleRate),
      uint32(valid),
      uint32(0x10000),
      FULL_VOLUME,
      zeros(10),
      MATRIX,
      zeros(24),
      uint32(2),
    ),
    box(
      'trak',
      // Flags: enabled, used in the movie and in its preview.
      fullBox(
        'tkhd',
        7,
        zeros(8),
        uint32(1),
        zeros(4),
        uint32(valid),
        zeros(12),
        FULL_VOLUME,
        zeros(2),
        MATRIX,
        zeros(8),
      ),
      box('edts', fullBox('elst', 0, uint32(1), uint32(valid), uint32(recording.priming), uint32(0x10000))),
      media(recording, dataOffset),
    ),
  );
}

function media(recording: AacRecording, dataOffset: number): Buffer {
  const { packets, sampleRate, samplesPerPacket } = recording;
  const undetermined = uint16(0x55c4);
  return box(
    'mdia',
    fullBox(
      'mdhd',
      0,
      zeros(8),
      uint32(sampleRate),
      uint32(packets.length * samplesPerPacket),
      undetermined,
      zeros(2),
    ),
    fullBox('hdlr', 0, zeros(4), latin1('soun'), zeros(13)),
    box(
      'minf',
      fullBox('smhd', 0, zeros(4)),
      // The data is in this file.
      box('dinf', fullBox('dref', 0, uint32(1), fullBox('url ', 1))),
      sampleTable(recording, dataOffset),
    ),
  );
}

/** All packets are one chunk. */
function sampleTable(
  { packets, sampleRate, channels, samplesPerPacket }: AacRecording,
  dataOffset: number,
): Buffer {
  const sizes = Buffer.alloc(packets.length * 4);
  for (const [index, packet] of packets.entries()) sizes.writeUInt32BE(packet.length, index * 4);
  const count = uint32(packets.length);
  const rate = sampleRate > 0xffff ? uint32(0) : Buffer.concat([uint16(sampleRate), zeros(2)]);
  const entry = box(
    'mp4a',
    zeros(6),
    uint16(1),
    zeros(8),
    uint16(channels),
    uint16(16),
    zeros(4),
    rate,
    esds(sampleRate, channels),
  );
  return box(
    'stbl',
    fullBox('stsd', 0, uint32(1), entry),
    fullBox('stts', 0, uint32(1), count, uint32(samplesPerPacket)),
    fullBox('stsc', 0, uint32(1), uint32(1), count, uint32(1)),
    fullBox('stsz', 0, zeros(4), count, sizes),
    fullBox('stco', 0, uint32(1), uint32(dataOffset)),
  );
}

/** The decoder's configuration: AAC low complexity, the rate's code, the channels. */
function esds(sampleRate: number, channels: number): Buffer {
  const specific = uint16((2 << 11) | (AAC_RATES.indexOf(sampleRate) << 7) | (channels << 3));
  const decoder = descriptor(4, Buffer.from([0x40, 0x15]), zeros(11), descriptor(5, specific));
  return fullBox('esds', 0, descriptor(3, zeros(3), decoder, descriptor(6, Buffer.from([2]))));
}

const descriptor = (tag: number, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, body.length]), body]);
};

function box(type: string, ...parts: Buffer[]): Buffer {
  const size = 8 + parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([uint32(size), latin1(type), ...parts]);
}

const fullBox = (type: string, flags: number, ...parts: Buffer[]) => box(type, uint32(flags), ...parts);

const latin1 = (text: string) => Buffer.from(text, 'latin1');
const zeros = (length: number) => Buffer.alloc(length);

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
