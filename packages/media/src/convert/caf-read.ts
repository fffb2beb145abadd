import { ConversionError } from './budget.ts';

export interface CafRecording {
  /** `opus`, `aac `, `lpcm`, `alac` … */
  format: string;
  flags: number;
  sampleRate: number;
  channels: number;
  bitsPerChannel: number;
  /** 0 when it varies. */
  samplesPerPacket: number;
  data: Buffer;
  packets: Buffer[];
  /** Samples at the beginning that only prime the decoder. */
  priming: number;
  /** Samples to play after those. */
  valid: number | undefined;
}

/** Reads Apple's Core Audio Format. A truncated file yields its complete packets. */
export function readCaf(file: Buffer): CafRecording {
  const chunks = readChunks(file);
  const description = chunks.get('desc');
  const data = chunks.get('data')?.subarray(4);
  if (!description || description.length < 32 || !data) throw new ConversionError('the recording is damaged');
  const bytesPerPacket = description.readUInt32BE(16);
  const samplesPerPacket = description.readUInt32BE(20);
  const table = chunks.get('pakt');
  const hasTable = table !== undefined && table.length >= 24;
  return {
    sampleRate: description.readDoubleBE(0),
    format: description.toString('latin1', 8, 12),
    flags: description.readUInt32BE(12),
    samplesPerPacket,
    channels: description.readUInt32BE(24),
    bitsPerChannel: description.readUInt32BE(28),
    data,
    packets: hasTable ? splitPackets(data, table, { bytesPerPacket, samplesPerPacket }) : [],
    priming: hasTable ? Math.max(0, table.readInt32BE(16)) : 0,
    valid: hasTable ? Math.max(0, Number(table.readBigInt64BE(8))) : undefined,
  };
}

function readChunks(file: Buffer): Map<string, Buffer> {
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at + 12 <= file.length;) {
    const type = file.toString('latin1', at, at + 4);
    const size = Number(file.readBigInt64BE(at + 4));
    // A recording that was never finished has a data chunk of unknown size, written as -1.
    const end = size < 0 ? file.length : Math.min(file.length, at + 12 + size);
    if (!chunks.has(type)) chunks.set(type, file.subarray(at + 12, end));
    at = end;
  }
  return chunks;
}

/** The table has the size of each packet unless it is constant, then its duration in samples likewise. */
function splitPackets(
  data: Buffer,
  table: Buffer,
  { bytesPerPacket, samplesPerPacket }: { bytesPerPacket: number; samplesPerPacket: number },
): Buffer[] {
  const packets: Buffer[] = [];
  let at = 24;
  const next = (): number => {
    let value = 0;
    for (;;) {
      const byte = table[at++];
      if (byte === undefined) return -1;
      value = value * 128 + (byte & 0x7f);
      if (byte < 0x80) return value;
    }
  };
  for (let start = 0; start < data.length;) {
    const size = bytesPerPacket || next();
    if (samplesPerPacket === 0) next();
    if (size < 0 || start + size > data.length) break;
    packets.push(data.subarray(start, start + size));
    start += size;
    // A run of empty packets never reaches the end of the data; it ends with the table.
    if (size === 0 && at >= table.length) break;
  }
  return packets;
}
