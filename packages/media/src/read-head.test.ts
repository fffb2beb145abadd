import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readHead } from './read-head.ts';
import { SNIFF_BYTES } from './sniff.ts';

describe('readHead', () => {
  it('I8 returns the first bytes and repeats them in the whole stream', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(40_000), { maxLength: 8 }), async (sizes) => {
        const chunks = sizes.map((size, index) => Buffer.alloc(size, index + 1));
        const all = Buffer.concat(chunks);
        const { head, whole } = await readHead(stream(chunks));
        expect(head.equals(all.subarray(0, SNIFF_BYTES))).toBe(true);
        expect(Buffer.concat(await Array.fromAsync(whole)).equals(all)).toBe(true);
      }),
    );
  });

  it('I8 reads the rest on demand and closes the source when the reader stops', async () => {
    let pulled = 0;
    let isClosed = false;
    const endless = async function* () {
      try {
        for (;;) {
          pulled += 1;
          yield Buffer.alloc(SNIFF_BYTES);
        }
      } finally {
        isClosed = true;
      }
    };
    const { whole } = await readHead(endless());
    expect(pulled).toBe(1);
    for await (const chunk of whole) {
      expect(chunk.byteLength).toBe(SNIFF_BYTES);
      break;
    }
    expect(isClosed).toBe(true);
  });

  it('I8 passes a later error of the source on', async () => {
    const broken = async function* () {
      yield Buffer.alloc(SNIFF_BYTES);
      throw new Error('connection reset');
    };
    const { head, whole } = await readHead(broken());
    expect(head).toHaveLength(SNIFF_BYTES);
    await expect(Array.fromAsync(whole)).rejects.toThrow('connection reset');
  });
});

async function* stream(chunks: Buffer[]) {
  yield* chunks;
}
