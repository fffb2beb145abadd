import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ConsoleFile {
  readonly type: string;
  readonly body: Buffer;
}

export const DIST = join(import.meta.dirname, '../dist');

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Returns the built pages by name, or undefined when they were not built. */
export function readConsole(): ReadonlyMap<string, ConsoleFile> | undefined {
  try {
    return new Map(
      readdirSync(DIST).map((name) => {
        const type = TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
        return [name, { type, body: readFileSync(join(DIST, name)) }];
      }),
    );
  } catch {
    return undefined;
  }
}
