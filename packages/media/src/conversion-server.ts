import { readSync, writeSync } from 'node:fs';

import type { ConversionReply, ConversionRequest } from './conversion.ts';
import {
  CHILD_READS,
  CHILD_WRITES,
  frame,
  frameHeader,
  HEADER_BYTES,
  MAX_PART_BYTES,
  PART,
  REPLY,
} from './conversion-frames.ts';
import { ConversionError } from './convert/budget.ts';
import { OutputFile } from './convert/output-file.ts';
import type { Conversion } from './media-types.ts';

type Converted = Omit<Extract<ConversionReply, { ok: true }>, 'ok'>;

export type Convert = (
  conversion: Conversion,
  file: Buffer,
  to: OutputFile,
) => Converted | Promise<Converted>;

/** Runs in the child process: converts one file at a time until the service closes the pipe. */
export async function serveConversions(convert: Convert): Promise<never> {
  for (let request = readRequest(); request !== undefined; request = readRequest()) {
    const reply = await replyTo(request, convert);
    globalThis.gc?.();
    send(frame(REPLY, reply));
  }
  process.exit();
}

async function replyTo({ conversion }: ConversionRequest, convert: Convert): Promise<ConversionReply> {
  const parts = new Parts();
  try {
    const converted = await convert(conversion, readFile(), new OutputFile((bytes) => parts.add(bytes)));
    parts.end();
    return { ok: true, ...converted };
  } catch (error) {
    // Decoders read hostile bytes: any other error means that the file is damaged.
    return { ok: false, reason: error instanceof ConversionError ? error.message : 'the file is damaged' };
  }
}

function readRequest(): ConversionRequest | undefined {
  const content = readFrame();
  return content === undefined ? undefined : JSON.parse(content.toString());
}

function readFile(): Buffer {
  // The service has stopped.
  return readFrame() ?? process.exit();
}

/** Collects what an encoder writes into parts of one size. */
class Parts {
  readonly #part = Buffer.allocUnsafe(MAX_PART_BYTES);
  #size = 0;

  add(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.byteLength;) {
      const taken = bytes.subarray(at, at + this.#part.length - this.#size);
      this.#part.set(taken, this.#size);
      this.#size += taken.byteLength;
      at += taken.byteLength;
      if (this.#size === this.#part.length) this.end();
    }
  }

  end(): void {
    if (this.#size === 0) return;
    send(frameHeader(PART, this.#size));
    send(this.#part.subarray(0, this.#size));
    this.#size = 0;
  }
}

function readFrame(): Buffer | undefined {
  const length = read(HEADER_BYTES)?.readUInt32BE(1);
  return length === undefined ? undefined : read(length);
}

/** Waits for all of the bytes: this process has nothing else to do. */
function read(length: number): Buffer | undefined {
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at < length;) {
    const size = readSync(CHILD_READS, bytes, at, length - at, null);
    if (size === 0) return undefined;
    at += size;
  }
  return bytes;
}

/** Waits until the service has taken the bytes. */
function send(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.byteLength;) at += writeSync(CHILD_WRITES, bytes, at);
}
