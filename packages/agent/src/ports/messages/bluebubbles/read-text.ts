import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';

import { errorCode } from '@footbridge/runtime/error-code';
import { readBounded } from '@footbridge/runtime/read-bounded';

/** A program between the agent and the server may compress a response although the request does not offer it. */
const DECODERS = new Map([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
]);

/** Resolves with the text of a response, or with undefined above `maxBytes`. A response that cannot be decompressed has an empty text. */
export async function readText(
  body: AsyncIterable<Uint8Array>,
  encoding: string | string[] | undefined,
  maxBytes: number,
): Promise<string | undefined> {
  const bytes = await readBounded(body, maxBytes);
  if (bytes === undefined) return undefined;
  const decode = DECODERS.get(String(encoding ?? '').toLowerCase());
  try {
    const plain = decode === undefined ? bytes : decode(bytes, { maxOutputLength: maxBytes });
    // Also removes a byte order mark.
    return new TextDecoder().decode(plain);
  } catch (error) {
    return isTooLarge(error) ? undefined : '';
  }
}

function isTooLarge(error: unknown): boolean {
  return errorCode(error) === 'ERR_BUFFER_TOO_LARGE';
}
