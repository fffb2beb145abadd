import { MAX_OUTPUT_BYTES } from './convert/budget.ts';

/**
 * What goes through the pipes between the converter and its child process: a byte for the kind, four for the length, then
 * the content. The service sends a request and the file; the child process sends the parts of the result and one reply.
 */
export const REQUEST = 0;
export const FILE = 1;
export const PART = 2;
export const REPLY = 3;

export const HEADER_BYTES = 5;
export const MAX_REPLY_BYTES = 4096;
export const MAX_PART_BYTES = 64 * 1024;
/** All parts but the last are full. */
export const MAX_PARTS = Math.ceil(MAX_OUTPUT_BYTES / MAX_PART_BYTES);

/** The file descriptors of the child process. Its standard output stays closed: decoders write to the console. */
export const CHILD_READS = 0;
export const CHILD_WRITES = 3;

export function frameHeader(kind: number, length: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(kind, 0);
  header.writeUInt32BE(length, 1);
  return header;
}

export function frame(kind: number, content: object): Buffer {
  const bytes = Buffer.from(JSON.stringify(content));
  return Buffer.concat([frameHeader(kind, bytes.length), bytes]);
}
