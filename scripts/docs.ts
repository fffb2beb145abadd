// `npm run docs`: builds the documentation as a static site. The service serves it under /docs; it also works when opened from disk.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

import { asyncApiDocument } from '@footbridge/service/platform/asyncapi/asyncapi-document';
import { openApiDocument } from '@footbridge/service/platform/openapi/openapi-document';
import { buildSite, DeadLinksError } from '@footbridge/site/build-site';
import { DIST } from '@footbridge/site/site-files';

import manifest from '../package.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '..');
/** The address of a service with the default settings. */
const SERVICE = { version: manifest.version, url: 'http://127.0.0.1:4600' };

/** Builds the site and writes it into `folder`. */
export async function writeDocs(folder: string): Promise<void> {
  const files = await buildSite(ROOT, {
    'openapi.json': JSON.stringify(openApiDocument(SERVICE), null, 2),
    'asyncapi.json': JSON.stringify(asyncApiDocument(SERVICE), null, 2),
  });
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const [name, body] of files) await writeFile(join(folder, name), body);
}

if (import.meta.main)
  try {
    await writeDocs(DIST);
    console.log(
      `The site is in ${relative(process.cwd(), DIST)}: open index.html, or start the service and open /docs on its operator port.`,
    );
  } catch (error) {
    if (!(error instanceof DeadLinksError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
