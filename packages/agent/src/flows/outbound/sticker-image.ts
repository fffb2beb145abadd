import { createHash } from 'node:crypto';
import { join } from 'node:path';

import type { OutboundSticker } from '@footbridge/protocol/reactions';

import type { LocalFile } from '../../ports/messages/messages.ts';
import type { DownloadLimits, JobDeps } from './job-deps.ts';
import { failed } from '../../outcome.ts';
import type { Failed } from '../../outcome.ts';

const LIMITS: DownloadLimits = { maxBytes: 10 * 1024 * 1024, timeoutMs: 10_000 };
const MAX_PIXELS = 16_000_000;

/**
 * Writes the image of a sticker to a file that Messages accepts. The file name contains a hash of the image, by which the agent
 * recognises a sticker in the store.
 */
export async function stickerImage(sticker: OutboundSticker, deps: JobDeps): Promise<LocalFile | Failed> {
  const given = await imageBytes(sticker, deps);
  if ('state' in given) return given;
  deps.workOn();
  const format = formatOf(given);
  if (format === undefined) return undecodable('the format is unknown, or the file is damaged');
  const name = `sticker-${createHash('sha256').update(given).digest('hex').slice(0, 24)}.${format.extension}`;
  if (format.mime !== 'image/png')
    return { path: await deps.scratch.write(name, given), name, mime: format.mime };
  const path = join(await deps.scratch.folder(), name);
  const rewritten = await deps.images.rewritePng(given, path);
  return rewritten.ok ? { path, name, mime: format.mime } : undecodable(rewritten.reason);
}

const undecodable = (reason: string) =>
  failed('STICKER_ENCODE_FAILED', `The sticker cannot be decoded: ${reason}. Use PNG, JPEG, GIF or HEIC.`);

/** `checkSticker` has already preferred `bytes` over `url` (F8). */
async function imageBytes(sticker: OutboundSticker, deps: JobDeps): Promise<Uint8Array | Failed> {
  if (sticker.from === 'bytes') {
    const base64 = sticker.bytes.replace(/^data:[^,]*;base64,/, '');
    const bytes = Buffer.from(base64, 'base64');
    if (bytes.byteLength > LIMITS.maxBytes) {
      return failed('STICKER_ENCODE_FAILED', 'The sticker is larger than 10 MB.');
    }
    return bytes;
  }
  const downloaded = await deps.downloads.fetch(sticker.url, await deps.scratch.folder(), LIMITS);
  if (!downloaded.ok) {
    return failed('STICKER_DOWNLOAD_FAILED', `The sticker could not be downloaded: ${downloaded.message}.`);
  }
  return await deps.scratch.read(downloaded.file.path);
}

interface Format {
  readonly extension: string;
  readonly mime: string;
}

function formatOf(bytes: Uint8Array): Format | undefined {
  if (startsWith(bytes, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))
    return { extension: 'png', mime: 'image/png' };
  // Messages decodes the other formats itself: they are checked and passed unchanged.
  if (isJpeg(bytes)) return { extension: 'jpg', mime: 'image/jpeg' };
  if (isGif(bytes)) return { extension: 'gif', mime: 'image/gif' };
  if (isHeic(bytes)) return { extension: 'heic', mime: 'image/heic' };
  return undefined;
}

/** Walks the segments: a frame header within the size limit, then a scan, then the end of the image. */
function isJpeg(bytes: Uint8Array): boolean {
  if (!startsWith(bytes, [0xff, 0xd8, 0xff])) return false;
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let hasFrame = false;
  for (let at = 2; at + 9 <= file.length && file[at] === 0xff; at += 2 + file.readUInt16BE(at + 2)) {
    const marker = file.readUInt8(at + 1);
    if (marker === START_OF_SCAN) return hasFrame && file.includes(END_OF_IMAGE, at);
    if (!isFrameHeader(marker)) continue;
    const pixels = file.readUInt16BE(at + 5) * file.readUInt16BE(at + 7);
    if (pixels === 0 || pixels > MAX_PIXELS) return false;
    hasFrame = true;
  }
  return false;
}

const START_OF_SCAN = 0xda;
const END_OF_IMAGE = Buffer.from([0xff, 0xd9]);
/** SOF0 to SOF15. Three markers in that range are tables. */
const isFrameHeader = (marker: number) =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

function isGif(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes.subarray(0, 6)).toString('latin1');
  return (text === 'GIF87a' || text === 'GIF89a') && bytes.at(-1) === 0x3b;
}

/** The first box is `ftyp` with the brand, and it must not be the whole file. */
function isHeic(bytes: Uint8Array): boolean {
  const header = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
  const length = bytes.byteLength > 16 ? Buffer.from(bytes.subarray(0, 4)).readUInt32BE(0) : 0;
  const brands = ['heic', 'heix', 'hevc', 'heim', 'heis', 'mif1', 'msf1'];
  return header.slice(4, 8) === 'ftyp' && brands.includes(header.slice(8, 12)) && length < bytes.byteLength;
}

function startsWith(bytes: Uint8Array, magic: readonly number[]): boolean {
  return magic.every((byte, index) => bytes[index] === byte);
}
