import { once } from 'node:events';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';

import { parseReply } from './conversion.ts';
import type { ConversionReply } from './conversion.ts';
import {
  HEADER_BYTES,
  MAX_PART_BYTES,
  MAX_PARTS,
  MAX_REPLY_BYTES,
  PART,
  REPLY,
} from './conversion-frames.ts';

/**
 * Writes the parts of a result to `path` until the reply comes. The sender is not trusted: it can fill neither memory nor
 * the disk, because a part is read only when the one before is written, and their number and size are bounded (T59).
 * Resolves with undefined when the pipe ends, and for anything but valid frames.
 */
export async function receiveReply(pipe: Readable, path: string): Promise<ConversionReply | undefined> {
  const file = await open(path, 'w', 0o600);
  // The first listener is called at once if there are bytes, also too few: `read` would never yield.
  pipe.on('readable', ignore);
  try {
    for (let parts = 0; parts <= MAX_PARTS; parts++) {
      const header = await read(pipe, HEADER_BYTES);
      const [kind, length] = header === undefined ? [] : [header.readUInt8(0), header.readUInt32BE(1)];
      if (length === undefined || length < 1) return undefined;
      if (kind === REPLY) return length > MAX_REPLY_BYTES ? undefined : readReply(await read(pipe, length));
      if (kind !== PART || length > MAX_PART_BYTES) return undefined;
      const part = await read(pipe, length);
      if (part === undefined) return undefined;
      await file.writeFile(part);
    }
    return undefined;
  } finally {
    pipe.off('readable', ignore);
    await file.close();
  }
}

const ignore = () => undefined;

/** Resolves with undefined when the pipe ends before all of the bytes have come. */
async function read(pipe: Readable, length: number): Promise<Buffer | undefined> {
  const ended = new AbortController();
  const end = () => ended.abort();
  pipe.once('close', end);
  try {
    for (;;) {
      const bytes: unknown = pipe.destroyed ? undefined : pipe.read(length);
      if (Buffer.isBuffer(bytes)) return bytes.length === length ? bytes : undefined;
      if (pipe.destroyed || pipe.readableEnded) return undefined;
      await once(pipe, 'readable', { signal: ended.signal }).catch(() => undefined);
    }
  } finally {
    pipe.off('close', end);
  }
}

function readReply(content: Buffer | undefined): ConversionReply | undefined {
  try {
    return content === undefined ? undefined : parseReply(JSON.parse(content.toString()));
  } catch {
    return undefined;
  }
}
