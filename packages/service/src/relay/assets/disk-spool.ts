import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

import { errorCode } from '@footbridge/runtime/error-code';

import { EngineError, isDiskFull } from '../../platform/errors.ts';
import { fromSource, Meter, SizeLimitError, SourceError } from './measured-source.ts';

const MIB = 1024 * 1024;

export type SpoolOutcome =
  | { readonly stored: true; readonly path: string; readonly size: number; readonly sha256: string }
  | { readonly stored: false; readonly reason: 'too_large' | 'storage_full' };

/** A folder for files that are being received, in memory only chunk by chunk. The owner moves or removes the complete files. */
export class DiskSpool {
  readonly #folder: string;
  readonly #keepFree: number | undefined;

  /** `keepFree`: writes fail before the disk has less free space than this. Default: 64 MiB, or a tenth of a small disk. */
  static async open(folder: string, keepFree?: number): Promise<DiskSpool> {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await removeLeftovers(folder);
    } catch (cause) {
      throw new EngineError(
        'disk',
        `attachments cannot be stored in ${folder}; check that it is a writable folder`,
        cause,
      );
    }
    return new DiskSpool(folder, keepFree);
  }

  private constructor(folder: string, keepFree: number | undefined) {
    this.#folder = folder;
    this.#keepFree = keepFree;
  }

  /** Writes and syncs a file. Without `stored: true` nothing is left. An error of the source is rethrown unchanged. */
  async write(bytes: AsyncIterable<Uint8Array>, limit: number): Promise<SpoolOutcome> {
    const path = join(this.#folder, `${process.pid}-${randomUUID()}.part`);
    const meter = new Meter(limit);
    try {
      const file = await open(path, 'wx', 0o600);
      // The stream owns the file: it syncs and closes it, also when the source fails.
      await pipeline(this.#whileRoom(fromSource(bytes, meter)), file.createWriteStream({ flush: true }));
      return { stored: true, path, size: meter.size, sha256: meter.sha256() };
    } catch (error) {
      await rm(path, { force: true });
      if (error instanceof SizeLimitError) return { stored: false, reason: 'too_large' };
      if (error instanceof SourceError) throw error.cause;
      if (isFull(error)) return { stored: false, reason: 'storage_full' };
      throw new EngineError('disk', `an attachment cannot be written to ${this.#folder}`, error);
    }
  }

  /** Checks the free space every 8 MiB: a full disk would also stop the database. */
  async *#whileRoom(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let unchecked = Infinity;
    for await (const chunk of bytes) {
      unchecked += chunk.byteLength;
      if (unchecked > 8 * MIB) {
        const { bavail, blocks, bsize } = await statfs(this.#folder);
        if (bavail * bsize < (this.#keepFree ?? Math.min(64 * MIB, (blocks * bsize) / 10)))
          throw new DiskFullError();
        unchecked = 0;
      }
      yield chunk;
    }
  }
}

class DiskFullError extends Error {
  override readonly name = 'DiskFullError';
}

const isFull = (error: unknown) => error instanceof DiskFullError || isDiskFull(error);

/** Removes unfinished uploads of processes that have ended. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const writer = Number(/^(\d+)-/.exec(name)?.[1]);
    if (writer !== process.pid && isRunning(writer)) continue;
    await rm(join(folder, name), { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}
