import { createHash } from 'node:crypto';

/** A picture, a sound or any file that somebody at the page sends. */
export interface GivenFile {
  readonly name: string;
  readonly mime: string;
  readonly base64: string;
}

const SHOWN = /^(image\/(png|jpeg|gif|webp)|audio\/[\w.+-]+)$/;
const MOST_BYTES = 64_000_000;

/** What was sent from the page, by its SHA-256: the Mac fetches the agent's files here, and the phone shows them from here. */
export class MediaShelf {
  readonly #files = new Map<string, { type: string; body: Buffer }>();
  #bytes = 0;

  /** The path under which the file can be fetched. */
  put({ name, mime, base64 }: GivenFile): string {
    const body = Buffer.from(base64, 'base64');
    const sha256 = createHash('sha256').update(body).digest('hex');
    if (!this.#files.has(sha256)) {
      this.#files.set(sha256, { type: SHOWN.test(mime) ? mime : 'application/octet-stream', body });
      this.#bytes += body.length;
      this.#forgetOldest();
    }
    return `/media/${sha256}/${encodeURIComponent(name)}`;
  }

  find(path: string): { type: string; body: Buffer } | undefined {
    return this.#files.get(path.split('/')[2] ?? '');
  }

  #forgetOldest(): void {
    for (const [sha256, { body }] of this.#files) {
      if (this.#bytes <= MOST_BYTES || this.#files.size === 1) return;
      this.#files.delete(sha256);
      this.#bytes -= body.length;
    }
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
