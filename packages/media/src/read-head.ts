import { SNIFF_BYTES } from './sniff.ts';

/** Returns the first bytes of a stream, and the whole stream, those bytes included. */
export async function readHead(
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ head: Buffer; whole: AsyncGenerator<Uint8Array> }> {
  const iterator = bytes[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  let size = 0;
  while (size < SNIFF_BYTES) {
    const next = await iterator.next();
    if (next.done) break;
    chunks.push(next.value);
    size += next.value.byteLength;
  }
  return { head: Buffer.concat(chunks).subarray(0, SNIFF_BYTES), whole: resumed(chunks, iterator) };
}

/** A reader that stops early closes the source too. */
async function* resumed(
  chunks: Uint8Array[],
  iterator: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
  } finally {
    await iterator.return?.();
  }
}
