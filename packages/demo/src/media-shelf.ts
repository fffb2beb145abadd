import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A picture, a sound or any file that somebody at the page sends. */
export interface GivenFile {
  readonly name: string;
  readonly mime: string;
  readonly base64: string;
}

interface Shelved {
  readonly type: string;
  readonly body: Buffer;
}

/** Whatever else there is goes out as plain bytes, which no browser runs. */
const SHOWN: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  wav: 'audio/wav',
  m4a: 'audio/mp4',
  mp3: 'audio/mpeg',
};
const SHORTEST = 16;
const MOST_BYTES = 64_000_000;

/** Files by their SHA-256: the Mac fetches here what the agent sends, and the phone is drawn with what lies in its folder. */
export class MediaShelf {
  readonly #folder: string;
  readonly #files = new Map<string, Shelved>();
  readonly #seen = new Set<string>();
  #bytes = 0;

  /** `folder` is where the simulated Messages keeps its attachments. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The path under which the file can be fetched. */
  put({ name, base64 }: GivenFile): string {
    const sha256 = this.#keep(name, Buffer.from(base64, 'base64'));
    return `/media/${sha256}/${encodeURIComponent(name)}`;
  }

  /** By the whole SHA-256, or by its beginning: the Mac puts that much of it into the name of a sticker. */
  async find(path: string): Promise<Shelved | undefined> {
    const wanted = path.split('/')[2] ?? '';
    if (wanted.length < SHORTEST) return undefined;
    const known = this.#startingWith(wanted);
    if (known !== undefined) return known;
    await this.#stock();
    return this.#startingWith(wanted);
  }

  #startingWith(wanted: string): Shelved | undefined {
    for (const [sha256, file] of this.#files) if (sha256.startsWith(wanted)) return file;
    return undefined;
  }

  async #stock(): Promise<void> {
    const entries = await readdir(this.#folder, { recursive: true, withFileTypes: true });
    for (const entry of entries) {
      const path = join(entry.parentPath, entry.name);
      if (!entry.isFile() || entry.name.startsWith('chat.db') || this.#seen.has(path)) continue;
      this.#seen.add(path);
      this.#keep(entry.name, await readFile(path));
    }
  }

  #keep(name: string, body: Buffer): string {
    const sha256 = createHash('sha256').update(body).digest('hex');
    if (this.#files.has(sha256)) return sha256;
    const extension = name.split('.').at(-1)?.toLowerCase() ?? '';
    this.#files.set(sha256, { type: SHOWN[extension] ?? 'application/octet-stream', body });
    this.#bytes += body.length;
    for (const [oldest, file] of this.#files) {
      if (this.#bytes <= MOST_BYTES || oldest === sha256) break;
      this.#files.delete(oldest);
      this.#bytes -= file.body.length;
    }
    return sha256;
  }
}

export function isFile(value: unknown): value is GivenFile {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    'mime' in value &&
    'base64' in value &&
    [value.name, value.mime, value.base64].every((field) => typeof field === 'string')
  );
}
