const FINAL_TEXT = 0x81;
const TWO_BYTES_FOLLOW = 126;
const EIGHT_BYTES_FOLLOW = 127;

/** An encoded ping without payload: the same two bytes for every client. */
export const PING_FRAME = Buffer.from([0x89, 0x00]);

/**
 * Returns an unmasked text frame, as servers send it (RFC 6455, 5.2), to be written at once. `length` is that of the text in bytes.
 * `send` of `ws` writes the header and the payload separately: 20 instead of 8 µs (`bench/experiments/frame-writes.ts`).
 */
export function textFrame(text: string, length: number): Buffer {
  const start = length < TWO_BYTES_FOLLOW ? 2 : length <= 0xffff ? 4 : 10;
  const frame = Buffer.allocUnsafe(start + length);
  frame[0] = FINAL_TEXT;
  frame[1] = start === 2 ? length : start === 4 ? TWO_BYTES_FOLLOW : EIGHT_BYTES_FOLLOW;
  if (start === 4) frame.writeUInt16BE(length, 2);
  if (start === 10) frame.writeBigUInt64BE(BigInt(length), 2);
  frame.write(text, start);
  return frame;
}
