import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { Cleanup } from '@footbridge/testkit/cleanup';

const ROOT = join(import.meta.dirname, '../..');
const ARCHIVE = join(ROOT, 'tests/releases/footbridge-0.1.0.tgz');

/** The service of this checkout. */
export const CURRENT_MAIN = join(ROOT, 'packages/service/src/main.ts');

/** Unpacks the service of the last release. Resolves with the path of its program, which uses the dependencies of this checkout. */
export async function unpackLastRelease(cleanup: Cleanup): Promise<string> {
  const cache = join(ROOT, '.cache');
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, 'last-release-'));
  cleanup.add(() => rm(folder, { recursive: true, force: true }));
  await promisify(execFile)('tar', ['-xzf', ARCHIVE, '-C', folder, '--no-same-owner']);
  return join(folder, 'service/src/main.js');
}
