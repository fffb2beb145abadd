import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes, scrypt } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { promisify } from 'node:util';

import { MaintenanceError } from './maintenance-error.ts';

/**
 * An encrypted file: a line with the format, a line of unencrypted JSON, then records. Each record is encrypted with AES-256-GCM and a key
 * that is derived for this file (scrypt over the passphrase and a random salt). The nonce contains the number of the record and whether it
 * is the last one, and the associated data is the head, so that changed, missing, reordered and appended records are detected. A record
 * is stored as its length in four bytes, its ciphertext and its tag.
 */
export interface SealedHead {
  /** The version of Footbridge that wrote the file. */
  readonly version: string;
  readonly createdAt: string;
}

export interface SealedWriter {
  append(record: Buffer, options?: { readonly last: boolean }): Promise<void>;
  /** The size and the SHA-256 of what was written. */
  summary(): { readonly bytes: number; readonly sha256: string };
}

const FORMAT = 1;
const MAGIC = 'footbridge-backup';
const CIPHER = 'aes-256-gcm';
const TAG_BYTES = 16;
const SALT_BYTES = 32;
const LENGTH_BYTES = 4;
const MAX_HEAD_BYTES = 4096;
/** A record of rows is about a megabyte. */
const MAX_RECORD_BYTES = 256 * 1024 * 1024;
/** Fixed by the format: a file cannot make the reader use more memory than this (128 MB). */
const SCRYPT = { N: 2 ** 17, r: 8, p: 1, maxmem: 160 * 1024 * 1024 };

const deriveKey = promisify<string, Buffer, number, typeof SCRYPT, Buffer>(scrypt);

/** Resolves with the key of the file that has this salt. */
export type KeyOf = (salt: Buffer) => Promise<Buffer>;

export const keyFrom =
  (passphrase: string): KeyOf =>
  (salt) =>
    deriveKey(passphrase, salt, 32, SCRYPT);

export async function createSealed(
  file: FileHandle,
  keyOf: KeyOf,
  { version, createdAt }: SealedHead,
): Promise<SealedWriter> {
  const salt = randomBytes(SALT_BYTES);
  const key = await keyOf(salt);
  const about = { version, createdAt, salt: salt.toString('base64'), check: checkOf(key) };
  const head = Buffer.from(`${MAGIC} ${FORMAT}\n${JSON.stringify(about)}\n`);
  const hash = createHash('sha256');
  let bytes = 0;
  let count = 0;
  const write = async (part: Buffer) => {
    hash.update(part);
    bytes += part.length;
    await file.writeFile(part);
  };
  await write(head);
  return {
    async append(record, { last } = { last: false }) {
      const cipher = createCipheriv(CIPHER, key, nonceOf(count++, last)).setAAD(head);
      const sealed = Buffer.concat([cipher.update(record), cipher.final(), cipher.getAuthTag()]);
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt32BE(sealed.length);
      await write(Buffer.concat([length, sealed]));
    },
    summary: () => ({ bytes, sha256: hash.copy().digest('hex') }),
  };
}

export interface SealedReader extends SealedHead {
  /** Yields the records in order. Throws BACKUP_DAMAGED at the first altered record, or when the last one is missing. */
  records(): AsyncGenerator<Buffer>;
  /** The size and the SHA-256 of what was read. */
  summary(): { readonly bytes: number; readonly sha256: string };
}

/** Throws BACKUP_NEWER, BACKUP_KEY_REJECTED or BACKUP_DAMAGED. */
export async function openSealed(file: FileHandle, keyOf: KeyOf): Promise<SealedReader> {
  const { head, about } = await readHead(file);
  const key = await keyOf(Buffer.from(about.salt, 'base64'));
  if (checkOf(key) !== about.check)
    throw new MaintenanceError(
      'BACKUP_KEY_REJECTED',
      'the key does not match this backup; nothing was changed',
      'pass the key that the backup was made with',
    );
  let hash = createHash('sha256');
  let bytes = 0;
  return {
    version: about.version,
    createdAt: about.createdAt,
    async *records() {
      hash = createHash('sha256').update(head);
      bytes = head.length;
      for (let count = 0; ; count++) {
        const length = (await readAt(file, bytes, LENGTH_BYTES)).readUInt32BE();
        if (length < TAG_BYTES || length > MAX_RECORD_BYTES) throw damaged();
        const sealed = await readAt(file, bytes + LENGTH_BYTES, length);
        const next = bytes + LENGTH_BYTES + length;
        const last = (await file.stat()).size === next;
        const record = open(sealed, key, nonceOf(count, last), head);
        const prefix = Buffer.alloc(LENGTH_BYTES);
        prefix.writeUInt32BE(length);
        hash.update(prefix).update(sealed);
        bytes = next;
        yield record;
        if (last) return;
      }
    },
    summary: () => ({ bytes, sha256: hash.copy().digest('hex') }),
  };
}

interface Head extends SealedHead {
  readonly salt: string;
  readonly check: string;
}

async function readHead(file: FileHandle): Promise<{ head: Buffer; about: Head }> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_HEAD_BYTES), 0, MAX_HEAD_BYTES, 0);
  const text = buffer.subarray(0, bytesRead).toString('latin1');
  const [, format] = /^footbridge-backup (\d{1,9})\n/.exec(text) ?? [];
  if (format === undefined)
    throw new MaintenanceError(
      'BACKUP_DAMAGED',
      'the file is not a Footbridge backup, or its header is damaged; nothing was changed',
      'pass a file made by footbridge backup',
    );
  if (Number(format) > FORMAT)
    throw new MaintenanceError(
      'BACKUP_NEWER',
      'the backup was made by a newer version of Footbridge; nothing was changed',
      'install the version that made it, or a newer one',
    );
  const end = text.indexOf('\n', text.indexOf('\n') + 1) + 1;
  const head = buffer.subarray(0, end);
  return { head, about: parseHead(head.subarray(text.indexOf('\n') + 1).toString('utf8')) };
}

function parseHead(json: string): Head {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch (error) {
    throw damaged(error);
  }
  const { version, createdAt, salt, check } = (parsed ?? {}) as Record<string, unknown>;
  if (
    typeof version !== 'string' ||
    typeof createdAt !== 'string' ||
    typeof salt !== 'string' ||
    typeof check !== 'string'
  )
    throw damaged();
  return { version, createdAt, salt, check };
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  let read = 0;
  while (read < length) {
    const { bytesRead } = await file.read(buffer, read, length - read, position + read);
    if (bytesRead === 0) throw damaged();
    read += bytesRead;
  }
  return buffer;
}

function open(sealed: Buffer, key: Buffer, nonce: Buffer, head: Buffer): Buffer {
  const end = sealed.length - TAG_BYTES;
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(head).setAuthTag(sealed.subarray(end));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()]);
  } catch (error) {
    throw damaged(error);
  }
}

function nonceOf(count: number, last: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(count, 5, 6);
  nonce[11] = last ? 1 : 0;
  return nonce;
}

/** Distinguishes a wrong passphrase from a damaged record. */
const checkOf = (key: Buffer) =>
  createHmac('sha256', key).update('footbridge backup key').digest().subarray(0, 16).toString('base64');

export const damaged = (cause?: unknown) =>
  new MaintenanceError(
    'BACKUP_DAMAGED',
    'the backup is damaged or incomplete; nothing was changed',
    'copy the file again from its original location, or use an older backup',
    cause,
  );
