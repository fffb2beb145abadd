import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** A file with more chunks is not a voice message. */
const MAX_CHUNKS = 1_000;
/** Forty minutes of AMR. */
const MAX_AMR_BYTES = 4 * 1024 * 1024;
const AMR_FRAME_MS = 20;
const EDIT_COUNT_BYTES = 4;

/** The size of an AMR frame without its first byte, by frame type. A type that is missing here ends the stream. */
const AMR_SIZES = [12, 13, 15, 17, 19, 20, 26, 31, 5];
const AMR_WB_SIZES = [17, 23, 32, 36, 40, 46, 50, 58, 60, 5];
const AMR_EMPTY_FRAME = 15;

/**
 * Returns the duration of an audio file in milliseconds, from its header. Knows the formats of voice messages: Core Audio (CAF), MPEG-4 and
 * AMR. Returns undefined for any other file, and for a damaged or missing file.
 */
export function readAudioDuration(path: string): number | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, 'r');
    const seconds = durationOf(new FileBytes(fd));
    return seconds !== undefined && Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Reads parts of a file. Throws for a part beyond its end. */
class FileBytes {
  readonly #fd: number;
  readonly size: number;

  constructor(fd: number) {
    this.#fd = fd;
    this.size = fstatSync(fd).size;
  }

  at(position: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    if (readSync(this.#fd, bytes, 0, length, position) < length) throw new Error('The file is cut off');
    return bytes;
  }
}

function durationOf(file: FileBytes): number | undefined {
  const start = file.at(0, Math.min(file.size, 12)).toString('latin1');
  if (start.startsWith('caff')) return cafSeconds(file);
  if (start.slice(4, 8) === 'ftyp') return mp4Seconds(file);
  if (start.startsWith('#!AMR-WB\n')) return amrSeconds(file, 9, AMR_WB_SIZES);
  return start.startsWith('#!AMR\n') ? amrSeconds(file, 6, AMR_SIZES) : undefined;
}

/** Uses the packet table, which counts packets and frames. Without a table, all packets have the same size. */
function cafSeconds(file: FileBytes): number | undefined {
  const chunks = new Map<string, { at: number; size: number }>();
  let at = 8;
  for (let count = 0; count < MAX_CHUNKS && at + 12 <= file.size; count += 1) {
    const header = file.at(at, 12);
    const size = Number(header.readBigInt64BE(4));
    // The size −1 of the last chunk means up to the end of the file.
    const length = size < 0 ? file.size - at - 12 : size;
    chunks.set(header.toString('latin1', 0, 4), { at: at + 12, size: length });
    at += 12 + length;
  }
  const description = chunks.get('desc');
  if (description === undefined) return undefined;
  const format = file.at(description.at, 32);
  const [rate, packetBytes, packetFrames] = [
    format.readDoubleBE(0),
    format.readUInt32BE(16),
    format.readUInt32BE(20),
  ];
  const data = chunks.get('data');
  const table = chunks.get('pakt');
  if (data === undefined) return undefined;
  // The data begins after an edit count of four bytes.
  if (table === undefined) return (((data.size - EDIT_COUNT_BYTES) / packetBytes) * packetFrames) / rate;
  const [packets, frames] = [0, 8].map((place) => Number(file.at(table.at, 16).readBigInt64BE(place)));
  if (format.toString('latin1', 8, 12) !== 'opus') return (frames ?? 0) / rate;
  // Encoders disagree on the unit of Opus frames. The packets contain their duration.
  return ((packets ?? 0) * opusPacketMs(file.at(data.at + EDIT_COUNT_BYTES, 2))) / 1000;
}

/** Returns the duration of an Opus packet, from its first bytes (RFC 6716, 3.1). */
function opusPacketMs(packet: Buffer): number {
  const [toc = 0, count = 0] = packet;
  const config = toc >> 3;
  const frameMs =
    config < 12
      ? [10, 20, 40, 60][config % 4]
      : config < 16
        ? [10, 20][config % 2]
        : [2.5, 5, 10, 20][config % 4];
  const code = toc & 3;
  const frames = code === 0 ? 1 : code < 3 ? 2 : count & 0x3f;
  return (frameMs ?? 0) * frames;
}

function mp4Seconds(file: FileBytes): number | undefined {
  const movie = findBox(file, 'moov', 0, file.size);
  const header = movie && findBox(file, 'mvhd', movie.at, movie.end);
  if (header === undefined) return undefined;
  const isLong = file.at(header.at, 1)[0] === 1;
  const bytes = file.at(header.at, isLong ? 32 : 20);
  return isLong
    ? Number(bytes.readBigUInt64BE(24)) / bytes.readUInt32BE(20)
    : bytes.readUInt32BE(16) / bytes.readUInt32BE(12);
}

function findBox(
  file: FileBytes,
  type: string,
  start: number,
  end: number,
): { at: number; end: number } | undefined {
  let at = start;
  for (let count = 0; count < MAX_CHUNKS && at + 8 <= end; count += 1) {
    const header = file.at(at, 8);
    const short = header.readUInt32BE(0);
    const isLong = short === 1;
    const size = isLong ? Number(file.at(at + 8, 8).readBigUInt64BE(0)) : short === 0 ? end - at : short;
    if (size < 8) return undefined;
    if (header.toString('latin1', 4) === type) return { at: at + (isLong ? 16 : 8), end: at + size };
    at += size;
  }
  return undefined;
}

function amrSeconds(file: FileBytes, start: number, sizes: readonly number[]): number | undefined {
  if (file.size > MAX_AMR_BYTES) return undefined;
  const bytes = file.at(0, file.size);
  let frames = 0;
  for (let at = start; at < bytes.byteLength; frames += 1) {
    const type = ((bytes[at] ?? 0) >> 3) & 0x0f;
    const size = type === AMR_EMPTY_FRAME ? 0 : sizes[type];
    if (size === undefined) break;
    at += 1 + size;
  }
  return (frames * AMR_FRAME_MS) / 1000;
}
