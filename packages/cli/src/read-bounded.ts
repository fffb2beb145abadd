import type { IncomingMessage } from 'node:http';

import { readBounded as read } from '@footbridge/runtime/read-bounded';

/** The body of a response exceeds the limit. */
export class BodyTooLargeError extends Error {
  override readonly name = 'BodyTooLargeError';

  constructor(maxBytes: number) {
    super(`the response is larger than ${maxBytes / 1024 / 1024} MB`);
  }
}

/** Reads a body as text. Throws a BodyTooLargeError, and stops reading, as soon as it exceeds `maxBytes`. */
export async function readBounded(response: Response, maxBytes: number): Promise<string> {
  if (Number(response.headers.get('content-length')) > maxBytes) {
    await response.body?.cancel();
    throw new BodyTooLargeError(maxBytes);
  }
  return await readParts(response.body, maxBytes);
}

/** Like `readBounded`, but for a node:http response. */
export async function readIncoming(response: IncomingMessage, maxBytes: number): Promise<string> {
  if (Number(response.headers['content-length']) > maxBytes) {
    response.destroy();
    throw new BodyTooLargeError(maxBytes);
  }
  return await readParts(response, maxBytes);
}

async function readParts(body: AsyncIterable<Uint8Array> | null, maxBytes: number): Promise<string> {
  const bytes = body === null ? '' : await read(body, maxBytes);
  if (bytes === undefined) throw new BodyTooLargeError(maxBytes);
  return bytes.toString();
}
