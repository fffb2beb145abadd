import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

import type { Scratch } from '../flows/outbound/job-deps.ts';

/** A folder for the files of one job, made when the first is written and removed with `clear`. */
export class ScratchFolder implements Scratch {
  readonly #parent: string;
  #made: Promise<string> | undefined;

  constructor(parent: string) {
    this.#parent = parent;
  }

  folder(): Promise<string> {
    this.#made ??= mkdir(this.#parent, { recursive: true, mode: 0o700 }).then(() =>
      mkdtemp(join(this.#parent, 'job-')),
    );
    return this.#made;
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
    if (this.#made !== undefined) await rm(await this.#made, { recursive: true, force: true });
  }
}
