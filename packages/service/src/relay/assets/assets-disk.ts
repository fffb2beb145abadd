import { mkdir, open, opendir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';

import { errorCode } from '@footbridge/runtime/error-code';

import { EngineError } from '../../platform/errors.ts';
import { asAssetId, newAssetId } from './assets.ts';
import type { AssetId, Assets, StoredAsset, StoreOutcome } from './assets.ts';
import { DiskSpool } from './disk-spool.ts';

export interface DiskAssetsOptions {
  /** Used by one process at a time. */
  directory: string;
  /** Uploads fail before the disk has less free space than this, which the database needs too. Default: 64 MiB, or a tenth of a small disk. */
  keepFree?: number;
}

/** Files in a folder: written under a temporary name, synced, then renamed, so that a published file is complete. */
export async function openDiskAssets({ directory, keepFree }: DiskAssetsOptions): Promise<Assets> {
  return new DiskAssets(directory, await DiskSpool.open(join(directory, 'incoming'), keepFree));
}

class DiskAssets implements Assets {
  readonly #directory: string;
  readonly #spool: DiskSpool;

  constructor(directory: string, spool: DiskSpool) {
    this.#directory = directory;
    this.#spool = spool;
  }

  async store(bytes: AsyncIterable<Uint8Array>, limit: number): Promise<StoreOutcome> {
    const written = await this.#spool.write(bytes, limit);
    if (!written.stored) return written;
    const { path, size, sha256 } = written;
    const id = newAssetId();
    try {
      await this.#publish(path, id);
    } catch (error) {
      await rm(path, { force: true });
      throw new EngineError('disk', `an attachment cannot be written to ${this.#directory}`, error);
    }
    return { stored: true, id, size, sha256 };
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
      if (errorCode(error) === 'ENOENT') return undefined;
      throw new EngineError('disk', `attachments in ${this.#directory} cannot be accessed`, error);
    }
  }
}

const idOf = (fileName: string): AssetId | undefined =>
  /^[\da-f]{48}$/.test(fileName) ? asAssetId(Buffer.from(fileName, 'hex').toString('base64url')) : undefined;

/** A rename is durable only after its folder is synced. */
async function sync(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
