export interface BuiltPage {
  readonly files: ReadonlyMap<string, { readonly type: string; readonly body: string }>;
}

const TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Builds the page in a folder: its HTML, one script and one style sheet, in memory. `base` is the path it is served under. */
export async function buildPage(root: string, base = './'): Promise<BuiltPage> {
  const { build } = await import('vite');
  const output = await build({
    root,
    configFile: false,
    logLevel: 'error',
    base,
    build: { write: false, modulePreload: false, cssCodeSplit: false, assetsInlineLimit: 0 },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  });
  const bundle = Array.isArray(output) ? output[0] : output;
  if (bundle === undefined || !('output' in bundle)) throw new Error('the page could not be built');
  const files = new Map<string, { type: string; body: string }>();
  for (const file of bundle.output) {
    const type = TYPES[file.fileName.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
    const body = file.type === 'chunk' ? file.code : Buffer.from(file.source).toString('utf8');
    files.set(`/${file.fileName}`, { type, body });
    if (file.fileName === 'index.html') files.set('/', { type, body });
  }
  return { files };
}
