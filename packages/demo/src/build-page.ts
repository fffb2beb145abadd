import { join } from 'node:path';

import { build } from 'vite';

export interface BuiltPage {
  readonly files: ReadonlyMap<string, { readonly type: string; readonly body: string | Uint8Array }>;
}

const TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Bundles the page in memory: nothing built is kept in the repository, and there is no step to forget. */
export async function buildPage(): Promise<BuiltPage> {
  const output = await build({
    root: join(import.meta.dirname, 'page'),
    configFile: false,
    logLevel: 'error',
    base: './',
    build: { write: false, modulePreload: false, cssCodeSplit: false, assetsInlineLimit: 0 },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  });
  const bundle = Array.isArray(output) ? output[0] : output;
  if (bundle === undefined || !('output' in bundle)) throw new Error('the page could not be built');
  const files = new Map<string, { type: string; body: string | Uint8Array }>();
  for (const file of bundle.output) {
    const type = TYPES[file.fileName.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
    const entry = { type, body: file.type === 'chunk' ? file.code : file.source };
    files.set(`/${file.fileName}`, entry);
    if (file.fileName === 'index.html') files.set('/', entry);
  }
  return { files };
}
