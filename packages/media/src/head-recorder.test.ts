import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeadRecorder } from './head-recorder.ts';
import { SNIFF_BYTES } from './sniff.ts';

describe('HeadRecorder', () => {
  it('I8 keeps the first bytes and passes all of them on', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(40_000), { maxLength: 8 }), async (sizes) => {
        const chunks = sizes.map((size, index) => Buffer.alloc(size, index + 1));
        const all = Buffer.concat(chunks);
        const recorder = new HeadRecorder();
        const passed = Buffer.concat(await Array.fromAsync(recorder.record(stream(chunks))));
        expect(passed.equals(all)).toBe(true);
        expect(recorder.head.equals(all.subarray(0, SNIFF_BYTES))).toBe(true);
      }),
    );
  });

  it('I8 reads on demand and closes the source when the reader stops', async () => {
    let pulled = 0;
    let isClosed = false;
    const endless = async function* () {
      try {
        for (;;) {
          pulled += 1;
          yield Buffer.alloc(10, 1);
        }
      } finally {
        isClosed = true;
      }
    };
    const recorder = new HeadRecorder();
    for await (const chunk of recorder.record(endless())) {
      expect(chunk).toHaveLength(10);
      break;
    }
    expect({ pulled, isClosed }).toEqual({ pulled: 1, isClosed: true });
    expect(recorder.head).toEqual(Buffer.alloc(10, 1));
  });

  it('I8 passes an error of the source on', async () => {
    const broken = async function* () {
      yield Buffer.alloc(10);
      throw new Error('connection reset');
    };
    await expect(Array.fromAsync(new HeadRecorder().record(broken()))).rejects.toThrow('connection reset');
  });
});

async function* stream(chunks: Buffer[]) {
  yield* chunks;
}
