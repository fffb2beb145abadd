import { ConversionError } from './budget.ts';

export interface CafSound {
  /** `opus`, `aac `, `lpcm`, `alac` … */
  format: string;
  flags: number;
  sampleRate: number;
  channels: number;
  bitsPerChannel: number;
  bytesPerPacket: number;
  data: Buffer;
  packets: Buffer[];
  /** Samples at the beginning that only warm the decoder up, and samples that are meant to be heard after them. */
  priming: number;
  valid: number | undefined;
}

/** Apple's Core Audio Format. A file cut short gives the packets that are whole. */
export function readCaf(file: Buffer): CafSound {
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at + 12 <= file.length;) {
    const type = file.toString('latin1', at, at + 4);
    const size = Number(file.readBigInt64BE(at + 4));
    // A recording that was never finished leaves its sound's length open.
    const end = size < 0 ? file.length : Math.min(file.length, at + 12 + size);
    if (!chunks.has(type)) chunks.set(type, file.subarray(at + 12, end));
    at = end;
  }
  const description = chunks.get('desc');
  const data = chunks.get('data')?.subarray(4);
  if (!description || description.length < 32 || !data) throw new ConversionError('the recording is damaged');
  const bytesPerPacket = description.readUInt32BE(16);
  const framesPerPacket = description.readUInt32BE(20);
  const table = chunks.get('pakt');
  const hasTable = table !== undefined && table.length >= 24;
  return {
    sampleRate: description.readDoubleBE(0),
    format: description.toString('latin1', 8, 12),
    flags: description.readUInt32BE(12),
    bytesPerPacket,
    channels: description.readUInt32BE(24),
    bitsPerChannel: description.readUInt32BE(28),
    data,
    packets: hasTable ? cutPackets(data, table, { bytesPerPacket, framesPerPacket }) : [],
    priming: hasTable ? Math.max(0, table.readInt32BE(16)) : 0,
    valid: hasTable ? Number(table.readBigInt64BE(8)) : undefined,
  };
}

/** The table has a size for each packet (unless all are equal), then its length in samples (likewise). */
function cutPackets(
  data: Buffer,
  table: Buffer,
  { bytesPerPacket, framesPerPacket }: { bytesPerPacket: number; framesPerPacket: number },
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
    if (framesPerPacket === 0) next();
    if (size < 0 || start + size > data.length) break;
    packets.push(data.subarray(start, start + size));
    start += size;
    // Empty packets take no room: only the table's end ends a run of them.
    if (size === 0 && at >= table.length) break;
  }
  return packets;
}
