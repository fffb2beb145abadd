import type { OutputFile } from './output-file.ts';

/** Opus counts samples at 48 kHz, whatever the recorded rate. */
export const OPUS_RATE = 48_000;
/** About a second per page: players seek by pages. */
const PACKETS_PER_PAGE = 50;

/** Returns the duration of an Opus packet in samples at 48 kHz, from its first bytes (RFC 6716, 3.1). */
export function opusDuration(packet: Uint8Array): number {
  const toc = packet[0] ?? 0;
  const config = toc >> 3;
  const frame =
    config < 12
      ? [480, 960, 1920, 2880][config & 3]
      : config < 16
        ? [480, 960][config & 1]
        : [120, 240, 480, 960][config & 3];
  const code = toc & 3;
  const frames = code === 0 ? 1 : code === 3 ? (packet[1] ?? 0) & 0x3f : 2;
  return (frame ?? 0) * frames;
}

/**
 * Puts Opus packets into an Ogg file (RFC 7845) without decoding them. `preSkip` and `length` are in samples at 48 kHz.
 */
export function writeOggOpus(
  output: OutputFile,
  packets: readonly Uint8Array[],
  {
    channels,
    sampleRate,
    preSkip,
    length,
  }: { channels: number; sampleRate: number; preSkip: number; length: number },
): void {
  const head = Buffer.alloc(19);
  head.write('OpusHead\x01', 'latin1');
  head[9] = channels;
  head.writeUInt16LE(preSkip, 10);
  head.writeUInt32LE(sampleRate, 12);
  const vendor = Buffer.from('footbridge');
  const tags = Buffer.alloc(8 + 4 + vendor.length + 4);
  tags.write('OpusTags', 'latin1');
  tags.writeUInt32LE(vendor.length, 8);
  vendor.copy(tags, 12);

  const pages = new OggPages(output);
  pages.write([head], 0, { isFirst: true });
  pages.write([tags], 0);
  const end = preSkip + length;
  const played = packetsUntil(packets, end);
  let position = 0;
  for (let at = 0; at < played.length; at += PACKETS_PER_PAGE) {
    const group = played.slice(at, at + PACKETS_PER_PAGE);
    for (const packet of group) position += opusDuration(packet);
    const isLast = at + PACKETS_PER_PAGE >= played.length;
    // On the last page a lower position trims the end of the last packet.
    pages.write(group, isLast ? Math.min(position, end) : position, { isLast });
  }
}

function packetsUntil(packets: readonly Uint8Array[], end: number): readonly Uint8Array[] {
  let position = 0;
  const beyond = packets.findIndex((packet) => {
    const isBeyond = position >= end;
    position += opusDuration(packet);
    return isBeyond;
  });
  return beyond < 0 ? packets : packets.slice(0, beyond);
}

class OggPages {
  readonly #output: OutputFile;
  #sequence = 0;

  constructor(output: OutputFile) {
    this.#output = output;
  }

  write(
    packets: readonly Uint8Array[],
    position: number,
    flags: { isFirst?: boolean; isLast?: boolean } = {},
  ): void {
    // A packet is laced in segments of 255 bytes; a shorter segment, possibly empty, ends it.
    const lacing = packets.flatMap((packet) => [
      ...Array.from({ length: Math.floor(packet.length / 255) }, () => 255),
      packet.length % 255,
    ]);
    const half = Math.ceil(packets.length / 2);
    if (lacing.length > 255 && packets.length > 1) {
      // Too many segments for one page. The first half ends earlier by the duration of the second.
      const second = packets.slice(half);
      const duration = second.reduce((sum, packet) => sum + opusDuration(packet), 0);
      this.write(packets.slice(0, half), Math.max(0, position - duration));
      this.write(second, position, flags);
      return;
    }
    const header = Buffer.alloc(27 + lacing.length);
    header.write('OggS', 'latin1');
    header[5] = (flags.isFirst ? 2 : 0) | (flags.isLast ? 4 : 0);
    header.writeBigUInt64LE(BigInt(position), 6);
    header.writeUInt32LE(1, 14);
    header.writeUInt32LE(this.#sequence++, 18);
    header[26] = lacing.length;
    header.set(lacing, 27);
    const page = Buffer.concat([header, ...packets]);
    page.writeUInt32LE(checksum(page), 22);
    this.#output.write(page);
  }
}

/** Ogg's CRC starts with the most significant bit, unlike zlib's. */
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x80000000 ? (crc << 1) ^ 0x04c11db7 : crc << 1;
  return crc >>> 0;
});

function checksum(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) crc = (crc << 8) ^ (CRC_TABLE[(crc >>> 24) ^ byte] ?? 0);
  return crc >>> 0;
}
