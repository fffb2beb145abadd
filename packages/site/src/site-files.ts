import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface SiteFile {
  readonly type: string;
  readonly read: () => Promise<Buffer>;
}

/** Where `npm run docs` writes the site. */
export const DIST = join(import.meta.dirname, '../dist');

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json',
  md: 'text/markdown; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
};

/** Returns the files of the site by name, or undefined if the site was not built. A file is read from disk when it is requested. */
export function findSite(): ReadonlyMap<string, SiteFile> | undefined {
  try {
    const files = readdirSync(DIST).map((name): [string, SiteFile] => {
      const type = TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
      return [name, { type, read: () => readFile(join(DIST, name)) }];
    });
    return new Map(files);
  } catch {
    return undefined;
  }
}
