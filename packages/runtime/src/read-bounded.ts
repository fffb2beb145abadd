/** Reads a body. Resolves with undefined, and stops reading, as soon as it exceeds `maxBytes`. */
export async function readBounded(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > maxBytes) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}
