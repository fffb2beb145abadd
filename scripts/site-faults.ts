import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { PAGES } from '@footbridge/site/contents';
import { deadLinks, renderPages } from '@footbridge/site/render-pages';

/** Returns a line for each document that is not in the menu of the site, and for each link without a target. */
export function siteFaults(root: string): string[] {
  const known = new Set(PAGES.map(({ source }) => source));
  const unlisted = globSync('docs/*.md', { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !known.has(path));
  const sources = PAGES.map(({ source }): [string, string] => [
    source,
    readFileSync(join(root, source), 'utf8'),
  ]);
  return [
    ...unlisted.map((path) => `${path} is not in packages/site/src/contents.ts`),
    ...deadLinks(renderPages(new Map(sources))).map((link) => `link without a target: ${link}`),
  ];
}
