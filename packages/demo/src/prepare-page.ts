import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { BuiltPage } from '@footbridge/ui/build-page';

/** An installed package has the built page instead of its sources. */
const BUILT_PAGE = join(import.meta.dirname, '../dist/page.json');

export async function preparePage(): Promise<BuiltPage> {
  const built = await readFile(BUILT_PAGE, 'utf8').catch(() => undefined);
  if (built !== undefined) return { files: new Map(JSON.parse(built)) };
  const { cachedPage } = await import('./build-page.ts');
  return cachedPage();
}
