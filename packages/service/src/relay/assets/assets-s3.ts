import { open, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';

import { systemClock } from '@footbridge/runtime/clock';
import { FairSlots } from '@footbridge/runtime/fair-slots';
import { S3mini, S3ServiceError } from 's3mini';

import { EngineError } from '../../platform/errors.ts';
import { asAssetId, newAssetId } from './assets.ts';
import type { AssetId, Assets, StoredAsset, StoreOutcome } from './assets.ts';
import { DiskSpool } from './disk-spool.ts';

/** Parts of files in memory. S3 requires at least 5 MiB for all parts but the last. docs/security.md shows this limit. */
export const S3_PARTS = { slots: 4, bytes: 5 * 1024 * 1024 } as const;
const PART_BYTES = S3_PARTS.bytes;
const RESPONSE_TIMEOUT_MS = 60_000;
const PREFIX = 'assets/';

export interface S3AssetsOptions {
  /** The URL of the bucket, including its name. */
  endpoint: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** The folder for files that are being received. */
  spoolFolder: string;
}

/**
 * Objects in a bucket that all nodes share. S3 publishes an object atomically. A file is received on the disk and sent to the bucket
 * when it is complete: however slow its sender is, it takes no memory.
 */
export async function openS3Assets({ spoolFolder, ...options }: S3AssetsOptions): Promise<Assets> {
  const bucket = new S3mini({ ...options, fetch: fetchWithTimeout, minPartSize: PART_BYTES });
  return new S3Assets(bucket, await DiskSpool.open(spoolFolder));
}

class S3Assets implements Assets {
  readonly #bucket: S3mini;
  readonly #spool: DiskSpool;
  readonly #parts = new FairSlots(S3_PARTS.slots, systemClock);

  constructor(bucket: S3mini, spool: DiskSpool) {
    this.#bucket = bucket;
    this.#spool = spool;
  }

  async store(bytes: AsyncIterable<Uint8Array>, limit: number): Promise<StoreOutcome> {
    const written = await this.#spool.write(bytes, limit);
    if (!written.stored) return written;
    const { path, size, sha256 } = written;
    const id = newAssetId();
    const upload = new Upload(this.#bucket, keyOf(id), this.#parts);
    try {
      await upload.send(path, size);
      return { stored: true, id, size, sha256 };
    } catch (error) {
      await upload.abort();
      if (isFull(error)) return { stored: false, reason: 'storage_full' };
      throw new EngineError('s3', 'an attachment cannot be written to the bucket', error);
    } finally {
      await rm(path, { force: true });
    }
  }

  async open(id: AssetId, part?: { start: number; length: number }): Promise<Readable | undefined> {
    if (part?.length === 0) return (await this.stat(id)) && Readable.from([]);
    const response = await this.#present(
      part
        ? this.#bucket.getObjectRaw(keyOf(id), false, part.start, part.start + part.length)
        : this.#bucket.getObjectRaw(keyOf(id)),
    );
    if (response === undefined) return undefined;
    const body = response.body ? Readable.fromWeb(response.body) : Readable.from([]);
    if (part === undefined) return body;
    const cut = Readable.from(slice(body, response.status === 206 ? 0 : part.start, part.length), {
      objectMode: false,
    });
    return cut.once('close', () => body.destroy());
  }

  async stat(id: AssetId): Promise<StoredAsset | undefined> {
    const key = keyOf(id);
    const listed = await this.#present(this.#bucket.listObjects('/', key, 1));
    const object = listed?.find(({ Key }) => Key === key);
    return object && { id, size: object.Size, storedAt: object.LastModified };
  }

  async remove(id: AssetId): Promise<void> {
    await this.#present(this.#bucket.deleteObject(keyOf(id)));
  }

  async *list(before: Date): AsyncGenerator<StoredAsset> {
    let next: string | undefined;
    do {
      const page = await this.#present(this.#bucket.listObjectsPaged('/', PREFIX, 1000, next));
      for (const { Key, Size, LastModified } of page?.objects ?? []) {
        const id = asAssetId(Key.slice(PREFIX.length));
        if (id && LastModified < before) yield { id, size: Size, storedAt: LastModified };
      }
      next = page?.nextContinuationToken;
    } while (next !== undefined);
  }

  async #present<T>(call: Promise<T>): Promise<T | undefined> {
    try {
      return await call;
    } catch (error) {
      if (error instanceof S3ServiceError && error.status === 404 && error.serviceCode !== 'NoSuchBucket') {
        return undefined;
      }
      throw new EngineError('s3', 'the bucket of the attachments cannot be accessed', error);
    }
  }
}

/** A single put when the file fits into one part, otherwise a multipart upload, one part at a time. */
class Upload {
  readonly #bucket: S3mini;
  readonly #key: string;
  readonly #slots: FairSlots;
  #uploadId: string | undefined;

  constructor(bucket: S3mini, key: string, slots: FairSlots) {
    this.#bucket = bucket;
    this.#key = key;
    this.#slots = slots;
  }

  async send(path: string, size: number): Promise<void> {
    const file = await open(path, 'r');
    try {
      if (size <= PART_BYTES)
        await this.#withPart(file, 0, size, (part) => this.#bucket.putObject(this.#key, part));
      else await this.#sendParts(file, size);
    } finally {
      await file.close();
    }
  }

  async abort(): Promise<void> {
    if (this.#uploadId === undefined) return;
    // The error that caused the abort is reported instead. A lifecycle rule of the bucket removes the leftovers.
    await this.#bucket.abortMultipartUpload(this.#key, this.#uploadId).catch(() => undefined);
  }

  async #sendParts(file: FileHandle, size: number): Promise<void> {
    const uploadId = await this.#bucket.getMultipartUploadId(this.#key);
    this.#uploadId = uploadId;
    const parts: { partNumber: number; etag: string }[] = [];
    for (let start = 0; start < size; start += PART_BYTES)
      parts.push(
        await this.#withPart(file, start, Math.min(PART_BYTES, size - start), (part) =>
          this.#bucket.uploadPart(this.#key, uploadId, part, parts.length + 1),
        ),
      );
    await this.#bucket.completeMultipartUpload(this.#key, uploadId, parts);
    this.#uploadId = undefined;
  }

  /** Reads a part once there is room for it in memory. */
  async #withPart<T>(
    file: FileHandle,
    start: number,
    length: number,
    send: (part: Buffer) => Promise<T>,
  ): Promise<T> {
    const release = await new Promise<() => void>((resolve) => this.#slots.enter(this.#key, resolve));
    try {
      return await send(await readPart(file, start, length));
    } finally {
      release();
    }
  }
}

async function readPart(file: FileHandle, start: number, length: number): Promise<Buffer> {
  const part = Buffer.allocUnsafe(length);
  for (let at = 0; at < length;) {
    const { bytesRead } = await file.read(part, at, length - at, start + at);
    if (bytesRead === 0) throw new Error('the received file is shorter than it was');
    at += bytesRead;
  }
  return part;
}

/** Cuts out the requested range: a server may respond with the whole file, or with more than was requested. */
async function* slice(bytes: AsyncIterable<Buffer>, skip: number, length: number): AsyncGenerator<Buffer> {
  let position = -skip;
  for await (const chunk of bytes) {
    const piece = chunk.subarray(Math.max(0, -position), Math.max(0, length - position));
    position += chunk.byteLength;
    if (piece.byteLength > 0) yield piece;
    if (position >= length) return;
  }
}

const keyOf = (id: AssetId) => `${PREFIX}${id}`;

const FULL_CODES = new Set(['XMinioStorageFull', 'QuotaExceeded', 'InsufficientStorage']);
const isFull = (error: unknown) =>
  error instanceof S3ServiceError && (error.status === 507 || FULL_CODES.has(error.serviceCode ?? ''));

/** Limits the time until the response starts, not the time to read its body. */
async function fetchWithTimeout(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  const timeout = new AbortController();
  const timer = setTimeout(() => {
    timeout.abort(new Error(`the bucket did not respond within ${RESPONSE_TIMEOUT_MS / 1000} s`));
  }, RESPONSE_TIMEOUT_MS);
  // Bodies here have a known length, which fetch sends itself. With a second one, Node 22's fetch fails once undici is loaded.
  const headers = new Headers(init?.headers);
  headers.delete('content-length');
  try {
    return await fetch(input, { ...init, headers, signal: timeout.signal });
  } finally {
    clearTimeout(timer);
  }
}
