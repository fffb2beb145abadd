import { randomUUID } from 'node:crypto';
import { mkdir, open, opendir, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { EngineError } from '../../errors.ts';
import { asAssetId, newAssetId } from './assets.ts';
import type { AssetId, Assets, StoredAsset, StoreOutcome } from './assets.ts';
import { fromSource, LimitPassed, Meter, SourceFailed } from './measured-source.ts';

const MIB = 1024 * 1024;

export interface DiskAssetsOptions {
  /** Belongs to one process at a time. */
  directory: string;
  /** Room left for everybody else on the disk, the database first of all: uploads end before it is used up. By default 64 MiB, or a tenth of a small disk. */
  keepFree?: number;
}

/** Files in a folder: written under a temporary name, synced, then renamed, so that a name stands for whole bytes. */
export async function openDiskAssets({ directory, keepFree }: DiskAssetsOptions): Promise<Assets> {
  const incoming = join(directory, 'incoming');
  try {
    await mkdir(incoming, { recursive: true, mode: 0o700 });
    await sweep(incoming);
  } catch (cause) {
    throw new EngineError(
      'disk',
      `cannot keep attachments in ${directory}: check that it may be written to`,
      cause,
    );
  }
  return new DiskAssets(directory, incoming, keepFree);
}

class DiskAssets implements Assets {
  readonly #directory: string;
  readonly #incoming: string;
  readonly #keepFree: number | undefined;

  constructor(directory: string, incoming: string, keepFree: number | undefined) {
    this.#directory = directory;
    this.#incoming = incoming;
    this.#keepFree = keepFree;
  }

  async store(bytes: AsyncIterable<Uint8Array>, limit: number): Promise<StoreOutcome> {
    const id = newAssetId();
    const temporary = join(this.#incoming, `${process.pid}-${randomUUID()}.part`);
    const meter = new Meter(limit);
    try {
      const file = await open(temporary, 'wx', 0o600);
      // The stream owns the file from here: it syncs and closes it, also when the source fails.
      await pipeline(this.#whileRoom(fromSource(bytes, meter)), file.createWriteStream({ flush: true }));
      await this.#publish(temporary, id);
      return { stored: true, id, size: meter.size, sha256: meter.sha256() };
    } catch (error) {
      await rm(temporary, { force: true });
      if (error instanceof LimitPassed) return { stored: false, reason: 'too_large' };
      if (error instanceof SourceFailed) throw error.cause;
      if (isFull(error)) return { stored: false, reason: 'storage_full' };
      throw new EngineError('disk', `an attachment could not be written to ${this.#directory}`, error);
    }
  }

  /** Looks at the free space every few megabytes: a disk run full takes the database down with it. */
  async *#whileRoom(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let unchecked = Infinity;
    for await (const chunk of bytes) {
      unchecked += chunk.byteLength;
      if (unchecked > 8 * MIB) {
        const { bavail, blocks, bsize } = await statfs(this.#incoming);
        if (bavail * bsize < (this.#keepFree ?? Math.min(64 * MIB, (blocks * bsize) / 10)))
          throw new DiskFull();
        unchecked = 0;
      }
      yield chunk;
    }
  }

  async #publish(temporary: string, id: AssetId): Promise<void> {
    const path = this.#path(id);
    const made = await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await rename(temporary, path);
    await sync(dirname(path));
    if (made !== undefined) await sync(this.#directory);
  }

  async open(id: AssetId, part?: { start: number; length: number }): Promise<Readable | undefined> {
    const file = await this.#present(open(this.#path(id), 'r'));
    if (file === undefined || part === undefined) return file?.createReadStream();
    if (part.length === 0) {
      await file.close();
      return Readable.from([]);
    }
    return file.createReadStream({ start: part.start, end: part.start + part.length - 1 });
  }

  async stat(id: AssetId): Promise<StoredAsset | undefined> {
    const found = await this.#present(stat(this.#path(id)));
    return found && { id, size: found.size, storedAt: found.mtime };
  }

  async remove(id: AssetId): Promise<void> {
    await this.#present(rm(this.#path(id)));
  }

  async *list(before: Date): AsyncGenerator<StoredAsset> {
    const entries = await this.#present(opendir(this.#directory, { recursive: true }));
    for await (const entry of entries ?? []) {
      const id = entry.isFile() ? idOf(entry.name) : undefined;
      const found = id && (await this.stat(id));
      if (found && found.storedAt < before) yield found;
    }
  }

  /** Hex, since two ids may differ in nothing but the case of a letter and some disks do not tell them apart. */
  #path(id: AssetId): string {
    const name = Buffer.from(id, 'base64url').toString('hex');
    return join(this.#directory, name.slice(0, 2), name);
  }

  async #present<T>(access: Promise<T>): Promise<T | undefined> {
    try {
      return await access;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw new EngineError('disk', `attachments in ${this.#directory} cannot be reached`, error);
    }
  }
}

const idOf = (fileName: string): AssetId | undefined =>
  /^[\da-f]{48}$/.test(fileName) ? asAssetId(Buffer.from(fileName, 'hex').toString('base64url')) : undefined;

class DiskFull extends Error {
  override readonly name = 'DiskFull';
}

const isFull = (error: unknown) =>
  error instanceof DiskFull || ['ENOSPC', 'EDQUOT'].includes(codeOf(error) ?? '');

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** A rename is on the disk only once its folder is. */
async function sync(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Removes what uploads of an earlier process left half-written; those of one that still runs stay. */
async function sweep(incoming: string): Promise<void> {
  for (const name of await readdir(incoming)) {
    const writer = Number(/^(\d+)-/.exec(name)?.[1]);
    if (writer !== process.pid && isRunning(writer)) continue;
    await rm(join(incoming, name), { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}
