import { readSync } from 'node:fs';

const CHUNK_BYTES = 65_536;
const POLL_MS = 2;

/**
 * Reads a descriptor to its end, and blocks until then. `readFileSync` fails with EAGAIN when the descriptor does not block and the data
 * has not arrived yet.
 */
export function readToEnd(descriptor: number): Buffer {
  const signal = new Int32Array(new SharedArrayBuffer(4));
  const chunks: Buffer[] = [];
  for (;;) {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    const length = readAvailable(descriptor, chunk);
    if (length === 0) return Buffer.concat(chunks);
    if (length === undefined) Atomics.wait(signal, 0, 0, POLL_MS);
    else chunks.push(chunk.subarray(0, length));
  }
}

/** Returns the number of bytes read, or undefined when none are there yet. */
function readAvailable(descriptor: number, into: Buffer): number | undefined {
  try {
    return readSync(descriptor, into);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return undefined;
    throw error;
  }
}
