import { Readable } from 'node:stream';

import { S3mini, S3ServiceError } from 's3mini';

import { EngineError } from '../../errors.ts';
import { asAssetId, newAssetId } from './assets.ts';
import type { AssetId, Assets, StoredAsset, StoreOutcome } from './assets.ts';
import { fromSource, Meter, SizeLimitError, SourceError } from './measured-source.ts';

/** Each upload in progress buffers one part. S3 requires at least 5 MiB for all parts but the last. */
const PART_BYTES = 8 * 1024 * 1024;
const RESPONSE_TIMEOUT_MS = 60_000;
const PREFIX = 'assets/';

export interface S3AssetsOptions {
  /** The URL of the bucket, including its name. */
  endpoint: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
}

/** Objects in a bucket that all nodes share. S3 publishes an object atomically. */
export function openS3Assets(options: S3AssetsOptions): Assets {
  return new S3Assets(new S3mini({ ...options, fetch: fetchWithTimeout, minPartSize: PART_BYTES }));
}

class S3Assets implements Assets {
  readonly #bucket: S3mini;

  constructor(bucket: S3mini) {
    this.#bucket = bucket;
  }

  async store(bytes: AsyncIterable<Uint8Array>, limit: number): Promise<StoreOutcome> {
    const id = newAssetId();
    const meter = new Meter(limit);
    const upload = new Upload(this.#bucket, keyOf(id));
    try {
      for await (const part of inParts(fromSource(bytes, meter))) await upload.add(part);
      await upload.finish();
      return { stored: true, id, size: meter.size, sha256: meter.sha256() };
    } catch (error) {
      await upload.abort();
      if (error instanceof SizeLimitError) return { stored: false, reason: 'too_large' };
      if (error instanceof SourceError) throw error.cause;
      if (isFull(error)) return { stored: false, reason: 'storage_full' };
      throw new EngineError('s3', 'an attachment cannot be written to the bucket', error);
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
    return Readable.from(slice(body, response.status === 206 ? 0 : part.start, part.length), {
      objectMode: false,
    });
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

/** A single put when the file fits into one part, otherwise a multipart upload. */
class Upload {
  readonly #bucket: S3mini;
  readonly #key: string;
  readonly #parts: { partNumber: number; etag: string }[] = [];
  #pending: Buffer | undefined;
  #uploadId: string | undefined;

  constructor(bucket: S3mini, key: string) {
    this.#bucket = bucket;
    this.#key = key;
  }

  /** Sends the previous part: only now is it known that it is not the only one. */
  async add(part: Buffer): Promise<void> {
    if (this.#pending) await this.#send(this.#pending);
    this.#pending = part;
  }

  async finish(): Promise<void> {
    const last = this.#pending ?? Buffer.alloc(0);
    if (this.#uploadId === undefined) {
      await this.#bucket.putObject(this.#key, last);
      return;
    }
    await this.#send(last);
    await this.#bucket.completeMultipartUpload(this.#key, this.#uploadId, this.#parts);
    this.#uploadId = undefined;
  }

  async abort(): Promise<void> {
    if (this.#uploadId === undefined) return;
    // The error that caused the abort is reported instead. A lifecycle rule of the bucket removes the leftovers.
    await this.#bucket.abortMultipartUpload(this.#key, this.#uploadId).catch(() => undefined);
  }

  async #send(part: Buffer): Promise<void> {
    this.#uploadId ??= await this.#bucket.getMultipartUploadId(this.#key);
    const partNumber = this.#parts.length + 1;
    this.#parts.push(await this.#bucket.uploadPart(this.#key, this.#uploadId, part, partNumber));
  }
}

async function* inParts(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.byteLength;) {
      const piece = chunk.subarray(at, at + PART_BYTES - size);
      chunks.push(piece);
      at += piece.byteLength;
      size += piece.byteLength;
      if (size < PART_BYTES) continue;
      yield Buffer.concat(chunks);
      chunks = [];
      size = 0;
    }
  }
  if (size > 0) yield Buffer.concat(chunks);
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
