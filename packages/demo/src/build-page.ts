import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { buildPage } from '@footbridge/ui/build-page';
import type { BuiltPage } from '@footbridge/ui/build-page';

const PAGE = join(import.meta.dirname, 'page');
const ROOT = join(import.meta.dirname, '../../..');
const CACHE = join(ROOT, 'node_modules/.cache/footbridge/page');
/** The sources of the page and of its build. */
const SOURCES = [
  PAGE,
  join(ROOT, 'packages/ui/src'),
  join(ROOT, 'packages/kit/src'),
  join(ROOT, 'packages/protocol/src'),
  join(ROOT, 'package-lock.json'),
  join(import.meta.dirname, 'build-page.ts'),
];

/** Returns the page from the cache, or builds it if its sources have changed. */
export async function cachedPage(): Promise<BuiltPage> {
  const file = `${await fingerprint()}.json`;
  try {
    return { files: new Map(JSON.parse(await readFile(join(CACHE, file), 'utf8'))) };
  } catch {
    const built = await buildDemoPage();
    await writeCache(file, JSON.stringify([...built.files])).catch(() => {
      // If the cache is not writable, the page is built at every start, which takes a second.
    });
    return built;
  }
}

export const buildDemoPage = (): Promise<BuiltPage> => buildPage(PAGE);

async function fingerprint(): Promise<string> {
  const hash = createHash('sha256');
  for (const source of SOURCES) {
    for (const file of await filesIn(source)) hash.update(file).update(await readFile(file));
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

/** Keeps only the newest build. */
async function writeCache(file: string, text: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  for (const old of await readdir(CACHE)) await rm(join(CACHE, old), { force: true });
  await writeFile(join(CACHE, file), text);
}
