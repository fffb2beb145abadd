import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A file sent from the page. */
export interface UploadedFile {
  readonly name: string;
  readonly mime: string;
  readonly base64: string;
}

interface StoredFile {
  readonly type: string;
  readonly body: Buffer;
}

/** All other types are served as application/octet-stream, which browsers do not execute. */
const MEDIA_TYPES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  wav: 'audio/wav',
  m4a: 'audio/mp4',
  mp3: 'audio/mpeg',
};
const MIN_PREFIX = 16;
const MAX_BYTES = 64_000_000;

/** Files by SHA-256, and stickers also by the hash in their name. The Mac downloads the agent's files from here, and the phone shows the files in the Mac's folder. */
export class MediaStore {
  readonly #folder: string;
  readonly #files = new Map<string, StoredFile>();
  readonly #loaded = new Set<string>();
  #bytes = 0;

  /** `folder` contains the attachments of the simulated Messages. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Stores a file and returns its URL path. */
  put({ name, base64 }: UploadedFile): string {
    const body = Buffer.from(base64, 'base64');
    const sha256 = sha256Of(body);
    this.#add(sha256, name, body);
    return `/media/${sha256}/${encodeURIComponent(name)}`;
  }

  /** Finds a file by its hash or a prefix of it. */
  async find(path: string): Promise<StoredFile | undefined> {
    const prefix = path.split('/')[2] ?? '';
    if (prefix.length < MIN_PREFIX) return undefined;
    const found = this.#withPrefix(prefix);
    if (found !== undefined) return found;
    await this.#loadFolder();
    return this.#withPrefix(prefix);
  }

  #withPrefix(prefix: string): StoredFile | undefined {
    for (const [hash, file] of this.#files) if (hash.startsWith(prefix)) return file;
    return undefined;
  }

  async #loadFolder(): Promise<void> {
    const entries = await readdir(this.#folder, { recursive: true, withFileTypes: true });
    for (const entry of entries) {
      const path = join(entry.parentPath, entry.name);
      if (!entry.isFile() || entry.name.startsWith('chat.db') || this.#loaded.has(path)) continue;
      this.#loaded.add(path);
      const body = await readFile(path);
      const [, hash] = /^sticker-([0-9a-f]{16,})/.exec(entry.name) ?? [];
      for (const key of [sha256Of(body), ...(hash === undefined ? [] : [hash])])
        this.#add(key, entry.name, body);
    }
  }

  #add(hash: string, name: string, body: Buffer): void {
    if (this.#files.has(hash)) return;
    const extension = name.split('.').at(-1)?.toLowerCase() ?? '';
    this.#files.set(hash, { type: MEDIA_TYPES[extension] ?? 'application/octet-stream', body });
    this.#bytes += body.length;
    for (const [oldest, file] of this.#files) {
      if (this.#bytes <= MAX_BYTES || oldest === hash) break;
      this.#files.delete(oldest);
      this.#bytes -= file.body.length;
    }
  }
}

const sha256Of = (body: Buffer) => createHash('sha256').update(body).digest('hex');

export function isFile(value: unknown): value is UploadedFile {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    'mime' in value &&
    'base64' in value &&
    [value.name, value.mime, value.base64].every((field) => typeof field === 'string')
  );
}
