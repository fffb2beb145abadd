import type { IncomingMessage } from 'node:http';

/** A body may have this many parts of any size. With more, their average size must be at least `MIN_AVERAGE_BYTES`. */
const MAX_SMALL_PARTS = 256;
const MIN_AVERAGE_BYTES = 256;
/** A smaller body cannot have enough parts to matter. */
const MIN_CHECKED_LENGTH = 65_536;

/**
 * Disconnects a client that sends its body in tiny parts (T28). Each part costs an event and an object, whatever its size: a megabyte in
 * one-byte chunks takes seconds of CPU time and more than a hundred megabytes of memory, before the client is authenticated.
 */
export function boundBodyParts(request: IncomingMessage): void {
  const { headers } = request;
  const isChecked =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length']) >= MIN_CHECKED_LENGTH;
  if (!isChecked) return;
  let [parts, bytes, isCut] = [0, 0, false];
  const push = request.push.bind(request);
  // Node's HTTP parser calls `push` for each part, before any reader sees the part.
  request.push = (part: unknown, encoding?: BufferEncoding) => {
    if (Buffer.isBuffer(part)) {
      parts++;
      bytes += part.length;
    }
    if (parts > MAX_SMALL_PARTS && bytes < parts * MIN_AVERAGE_BYTES && !isCut) {
      isCut = true;
      request.socket.destroy();
    }
    // The end of a cut body is not passed on either: the parts before the cut would look like a complete body.
    return isCut ? false : push(part, encoding);
  };
}
