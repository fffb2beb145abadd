import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

import type { Scratch } from '../flows/outbound/job-deps.ts';

/** A temporary folder for the files of one job. Created on first use, deleted by `clear`. */
export class ScratchFolder implements Scratch {
  readonly #parent: string;
  #created: Promise<string> | undefined;

  constructor(parent: string) {
    this.#parent = parent;
  }

  folder(): Promise<string> {
    this.#created ??= mkdir(this.#parent, { recursive: true, mode: 0o700 }).then(() =>
      mkdtemp(join(this.#parent, 'job-')),
    );
    return this.#created;
  }

  async write(name: string, bytes: Uint8Array): Promise<string> {
    const path = join(await this.folder(), basename(name));
    await writeFile(path, bytes, { mode: 0o600 });
    return path;
  }

  async read(path: string): Promise<Uint8Array> {
    return await readFile(path);
  }

  async clear(): Promise<void> {
    if (this.#created !== undefined) await rm(await this.#created, { recursive: true, force: true });
  }
}
