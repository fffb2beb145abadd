import { createHash, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { asAssetId, newAssetId } from './assets.ts';
import type { AssetId, Assets } from './assets.ts';

const FUTURE = new Date('2100-01-01');
const MIB = 1024 * 1024;

interface Opened {
  assets: Assets;
  /** The number of files or objects in the engine, published or not. */
  leftovers: () => Promise<number>;
  close: () => Promise<void>;
}

/** The contract of the port, for every engine. */
export function assetsContract(engine: string, openEngine: () => Promise<Opened>): void {
  describe(`assets: ${engine}`, () => {
    let opened: Opened;
    let assets: Assets;

    beforeEach(async () => {
      opened = await openEngine();
      ({ assets } = opened);
    });
    afterEach(() => opened.close());

    const inChunks = async function* (bytes: Buffer, size = 64 * 1024) {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    };
    const store = async (bytes: Buffer, limit = 100 * MIB): Promise<AssetId> => {
      const outcome = await assets.store(inChunks(bytes), limit);
      if (!outcome.stored) throw new Error(`not stored: ${outcome.reason}`);
      return outcome.id;
    };
    const read = async (id: AssetId, part?: { start: number; length: number }) => {
      const stream = await assets.open(id, part);
      return stream && Buffer.concat(await stream.toArray());
    };
    const ids = async (before: Date) => (await Array.fromAsync(assets.list(before))).map(({ id }) => id);

    it('I8 returns the stored bytes, their size and their hash', async () => {
      const bytes = randomBytes(200_000);
      const outcome = await assets.store(inChunks(bytes), MIB);
      expect(outcome).toEqual({
        stored: true,
        id: expect.stringMatching(/^[\w-]{32}$/),
        size: 200_000,
        sha256: createHash('sha256').update(bytes).digest('hex'),
      });
      if (outcome.stored) expect(await read(outcome.id)).toEqual(bytes);
    });

    it('I8 stores a file of several parts', async () => {
      const bytes = randomBytes(20 * MIB + 7);
      const id = await store(bytes);
      expect((await read(id))?.equals(bytes)).toBe(true);
      expect(await read(id, { start: 8 * MIB - 3, length: 6 })).toEqual(
        bytes.subarray(8 * MIB - 3, 8 * MIB + 3),
      );
    });

    it('I8 stores an empty file', async () => {
      const id = await store(Buffer.alloc(0));
      expect(await read(id)).toEqual(Buffer.alloc(0));
      expect(await assets.stat(id)).toMatchObject({ id, size: 0 });
    });

    it.each([
      [{ start: 0, length: 1 }],
      [{ start: 10, length: 20 }],
      [{ start: 99, length: 1 }],
      [{ start: 0, length: 100 }],
      [{ start: 5, length: 0 }],
    ])('I8 opens the range %o', async (part) => {
      const bytes = randomBytes(100);
      const id = await store(bytes);
      expect(await read(id, part)).toEqual(bytes.subarray(part.start, part.start + part.length));
    });

    it('I8 stores a file of the maximum size, and nothing of a larger one', async () => {
      const before = await opened.leftovers();
      expect(await assets.store(inChunks(Buffer.alloc(1001), 100), 1000)).toEqual({
        stored: false,
        reason: 'too_large',
      });
      expect(await opened.leftovers()).toBe(before);
      expect(await assets.store(inChunks(Buffer.alloc(1000), 100), 1000)).toMatchObject({ stored: true });
    });

    it('I8 stops reading a source that exceeds the limit', async () => {
      let pulled = 0;
      const endless = async function* () {
        for (;;) {
          pulled += MIB;
          yield Buffer.alloc(MIB);
        }
      };
      expect(await assets.store(endless(), 10 * MIB)).toEqual({ stored: false, reason: 'too_large' });
      expect(pulled).toBeLessThanOrEqual(12 * MIB);
      expect(await opened.leftovers()).toBe(0);
    });

    it.each([100, 20 * MIB])('I8 leaves nothing of a source that fails after %i bytes', async (size) => {
      const broken = async function* () {
        yield* inChunks(Buffer.alloc(size), MIB);
        throw new Error('connection reset');
      };
      await expect(assets.store(broken(), 100 * MIB)).rejects.toThrow('connection reset');
      expect(await ids(FUTURE)).toEqual([]);
      expect(await opened.leftovers()).toBe(0);
    });

    it('I8 publishes a file only when it is complete', async () => {
      const taken = Promise.withResolvers<undefined>();
      const gate = Promise.withResolvers<undefined>();
      const slow = async function* () {
        yield Buffer.alloc(9 * MIB);
        taken.resolve(undefined);
        await gate.promise;
        yield Buffer.alloc(1);
      };
      const storing = assets.store(slow(), 100 * MIB);
      await taken.promise;
      expect(await ids(FUTURE)).toEqual([]);
      gate.resolve(undefined);
      expect(await storing).toMatchObject({ stored: true, size: 9 * MIB + 1 });
      expect(await ids(FUTURE)).toHaveLength(1);
    });

    it('I8 returns undefined for an unknown id', async () => {
      const id = newAssetId();
      expect(await assets.open(id)).toBeUndefined();
      expect(await assets.open(id, { start: 0, length: 0 })).toBeUndefined();
      expect(await assets.stat(id)).toBeUndefined();
      await assets.remove(id);
    });

    it('I8 removes one file and keeps the others', async () => {
      const [removed, kept] = [await store(Buffer.from('a')), await store(Buffer.from('b'))];
      await assets.remove(removed);
      expect(await assets.open(removed)).toBeUndefined();
      expect(await read(kept)).toEqual(Buffer.from('b'));
      expect(await ids(FUTURE)).toEqual([kept]);
    });

    it('I8 lists the files stored before a time', async () => {
      const stored = [await store(Buffer.from('a')), await store(Buffer.from('bc'))];
      expect((await ids(FUTURE)).sort()).toEqual(stored.sort());
      expect(await ids(new Date(Date.now() - 60_000))).toEqual([]);
      const sizes = (await Array.fromAsync(assets.list(FUTURE))).map(({ size, storedAt }) => ({
        size,
        storedAt,
      }));
      expect(sizes).toContainEqual({ size: 1, storedAt: expect.any(Date) });
      expect(sizes).toContainEqual({ size: 2, storedAt: expect.any(Date) });
    });

    it('I8 keeps simultaneous uploads apart', async () => {
      const files = Array.from({ length: 20 }, () => randomBytes(5000));
      const stored = await Promise.all(files.map((bytes) => store(bytes)));
      expect(new Set(stored).size).toBe(20);
      expect(await Promise.all(stored.map((id) => read(id)))).toEqual(files);
    });

    it('I8 generates and accepts only ids that cannot be a path', () => {
      const given = Array.from({ length: 200 }, newAssetId);
      expect(given.every((id) => asAssetId(id) === id)).toBe(true);
      for (const hostile of [
        '../../etc/passwd',
        '',
        'a'.repeat(31),
        `${'a'.repeat(31)}/`,
        `${'a'.repeat(32)}\n`,
        7,
      ]) {
        expect(asAssetId(hostile)).toBeUndefined();
      }
    });
  });
}
