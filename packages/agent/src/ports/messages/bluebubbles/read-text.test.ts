import { Readable } from 'node:stream';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';

import { describe, expect, it } from 'vitest';

import { readText } from './read-text.ts';

const LIMIT = 1000;
const unchanged = (bytes: Buffer): Buffer => bytes;
const read = (bytes: Uint8Array, encoding?: string): Promise<string | undefined> =>
  readText(Readable.from([bytes]), encoding, LIMIT);

describe('the text of a response', () => {
  it.each([
    ['gzip', gzipSync],
    ['GZIP', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    [undefined, unchanged],
    ['identity', unchanged],
  ])('is read when it is compressed with %s', async (encoding, compress) => {
    expect(await read(compress(Buffer.from('Grüße')), encoding)).toBe('Grüße');
  });

  it('is limited before and after it is decompressed', async () => {
    const long = Buffer.alloc(LIMIT + 1, 'x');
    expect(gzipSync(long).length).toBeLessThan(LIMIT);
    expect(await read(long)).toBeUndefined();
    expect(await read(gzipSync(long), 'gzip')).toBeUndefined();
    expect(await read(gzipSync(long.subarray(1)), 'gzip')).toHaveLength(LIMIT);
  });

  it('is empty when it cannot be decompressed', async () => {
    expect(await read(Buffer.from('{"status":200}'), 'gzip')).toBe('');
    expect(await read(gzipSync('{"status":200}').subarray(0, 12), 'gzip')).toBe('');
  });
});
