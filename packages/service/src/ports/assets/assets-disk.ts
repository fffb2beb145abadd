import { randomUUID } from 'node:crypto';
import { mkdir, open, opendir, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { EngineError } from '../../errors.ts';
import { asAssetId, newAssetId } from './assets.ts';
import type { AssetId, Assets, StoredAsset, StoreOutcome } from './assets.ts';
import { fromSource, Meter, SizeLimitError, SourceError } from './measured-source.ts';

const MIB = 1024 * 1024;

export interface DiskAssetsOptions {
  /** Used by one process at a time. */
  directory: string;
  /** Uploads fail before the disk has less free space than this, which the database needs too. Default: 64 MiB, or a tenth of a small disk. */
  keepFree?: number;
}

/** Files in a folder: written under a temporary name, synced, then renamed, so that a published file is complete. */
export async function openDiskAssets({ directory, keepFree }: DiskAssetsOptions): Promise<Assets> {
  const incoming = join(directory, 'incoming');
  try {
    await mkdir(incoming, { recursive: true, mode: 0o700 });
    await removeLeftovers(incoming);
  } catch (cause) {
    throw new EngineError(
      'disk',
      `attachments cannot be stored in ${directory}; check that it is a writable folder`,
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
      // The stream owns the file: it syncs and closes it, also when the source fails.
      await pipeline(this.#whileRoom(fromSource(bytes, meter)), file.createWriteStream({ flush: true }));
      await this.#publish(temporary, id);
      return { stored: true, id, size: meter.size, sha256: meter.sha256() };
    } catch (error) {
      await rm(temporary, { force: true });
      if (error instanceof SizeLimitError) return { stored: false, reason: 'too_large' };
      if (error instanceof SourceError) throw error.cause;
      if (isFull(error)) return { stored: false, reason: 'storage_full' };
      throw new EngineError('disk', `an attachment cannot be written to ${this.#directory}`, error);
    }
  }

  /** Checks the free space every 8 MiB: a full disk would also stop the database. */
  async *#whileRoom(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let unchecked = Infinity;
    for await (const chunk of bytes) {
      unchecked += chunk.byteLength;
      if (unchecked > 8 * MIB) {
        const { bavail, blocks, bsize } = await statfs(this.#incoming);
        if (bavail * bsize < (this.#keepFree ?? Math.min(64 * MIB, (blocks * bsize) / 10)))
          throw new DiskFullError();
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

  /** Hex, because ids may differ only in case and some file systems are case-insensitive. */
  #path(id: AssetId): string {
    const name = Buffer.from(id, 'base64url').toString('hex');
    return join(this.#directory, name.slice(0, 2), name);
  }

  async #present<T>(access: Promise<T>): Promise<T | undefined> {
    try {
      return await access;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw new EngineError('disk', `attachments in ${this.#directory} cannot be accessed`, error);
    }
  }
}

const idOf = (fileName: string): AssetId | undefined =>
  /^[\da-f]{48}$/.test(fileName) ? asAssetId(Buffer.from(fileName, 'hex').toString('base64url')) : undefined;

class DiskFullError extends Error {
  override readonly name = 'DiskFullError';
}

const isFull = (error: unknown) =>
  error instanceof DiskFullError || ['ENOSPC', 'EDQUOT'].includes(codeOf(error) ?? '');

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** A rename is durable only after its folder is synced. */
async function sync(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Removes unfinished uploads of processes that have ended. */
async function removeLeftovers(incoming: string): Promise<void> {
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
