// Builds the pages of the console into `dist`, from where the service serves them. Runs after `npm ci`.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { buildPage } from '@footbridge/ui/build-page';
import type { BuiltPage } from '@footbridge/ui/build-page';

import { DIST } from './console-files.ts';

const page = await buildPage(join(import.meta.dirname, 'page'), '/console/').catch((error: unknown) => {
  if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
  process.stdout.write('The console is not built: that needs the development dependencies (npm ci).\n');
});
if (page !== undefined) await write(page);

async function write({ files }: BuiltPage): Promise<void> {
  await rm(DIST, { recursive: true, force: true });
  await mkdir(DIST, { recursive: true });
  for (const [path, { body }] of files)
    if (path !== '/') await writeFile(join(DIST, path.split('/').at(-1) ?? ''), body);
}
