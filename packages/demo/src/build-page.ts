import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface BuiltPage {
  readonly files: ReadonlyMap<string, { readonly type: string; readonly body: string }>;
}

const TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

const PAGE = join(import.meta.dirname, 'page');
const ROOT = join(import.meta.dirname, '../../..');
const KEPT = join(ROOT, 'node_modules/.cache/footbridge/page');
/** Everything that ends up in the page, and what builds it. */
const INGREDIENTS = [
  PAGE,
  join(ROOT, 'packages/kit/src'),
  join(ROOT, 'packages/protocol/src'),
  join(ROOT, 'package-lock.json'),
  join(import.meta.dirname, 'build-page.ts'),
];

/** Built when its sources are not those of the last time: there is no step to forget, and nothing built in the repository. */
export async function preparePage(): Promise<BuiltPage> {
  const file = `${await fingerprint()}.json`;
  try {
    return { files: new Map(JSON.parse(await readFile(join(KEPT, file), 'utf8'))) };
  } catch {
    const built = await buildPage();
    await keep(file, JSON.stringify([...built.files])).catch(() => {
      // A folder that cannot be written costs a second at every start, no more.
    });
    return built;
  }
}

export async function buildPage(): Promise<BuiltPage> {
  const { build } = await import('vite');
  const output = await build({
    root: PAGE,
    configFile: false,
    logLevel: 'error',
    base: './',
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

async function fingerprint(): Promise<string> {
  const hash = createHash('sha256');
  for (const ingredient of INGREDIENTS) {
    for (const file of await filesIn(ingredient)) hash.update(file).update(await readFile(file));
  }
  return hash.digest('hex');
}

async function filesIn(path: string): Promise<string[]> {
  try {
    const entries = await readdir(path, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() && !entry.name.includes('.test.'))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort();
  } catch {
    return [path];
  }
}

/** Only the newest: what was built from other sources is of no use any more. */
async function keep(file: string, text: string): Promise<void> {
  await mkdir(KEPT, { recursive: true });
  for (const old of await readdir(KEPT)) await rm(join(KEPT, old), { force: true });
  await writeFile(join(KEPT, file), text);
}
