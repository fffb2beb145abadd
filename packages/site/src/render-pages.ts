import { posix } from 'node:path';

import { FILES, PAGES } from './contents.ts';
import { renderMarkdown } from './render-markdown.ts';
import type { Rendered } from './render-markdown.ts';

/** Renders the pages, by their path in the repository. */
export const renderPages = (sources: ReadonlyMap<string, string>): ReadonlyMap<string, Rendered> =>
  new Map(
    [...sources].map(([source, markdown]) => [
      source,
      renderMarkdown(markdown, {
        resolve: (address) => siteAddress(source, address),
        titleOf: (address) => pageAt(targetOf(source, address))?.title,
      }),
    ]),
  );

/** Maps a link in a repository page to its address in the site. Returns unknown addresses unchanged, so that `deadLinks` reports them. */
export function siteAddress(source: string, address: string): string {
  const target = targetOf(source, address);
  const [, anchor] = address.split('#');
  const hash = anchor === undefined ? '' : `#${anchor}`;
  const page = pageAt(target);
  if (page !== undefined) return `${page.name}.html${hash}`;
  // The README has about the same content as the first page.
  if (target === 'README.md') return 'index.html';
  return FILES[target] ?? address;
}

const pageAt = (target: string) => PAGES.find(({ source }) => source === target);

/** Returns the path in the repository that a link points to. */
const targetOf = (source: string, address: string): string =>
  posix.join(posix.dirname(source), address.split('#', 1)[0] ?? '');

/** Returns the links whose target is neither a page nor a file of the site, or whose anchor does not exist. */
export function deadLinks(pages: ReadonlyMap<string, Rendered>): string[] {
  const files = new Set(Object.values(FILES));
  const ids = new Map(
    PAGES.map(({ name, source }) => [
      `${name}.html`,
      new Set(Array.from((pages.get(source)?.html ?? '').matchAll(/ id="([^"]+)"/g), ([, id]) => id)),
    ]),
  );
  return PAGES.flatMap(({ name, source }) => {
    const links = (pages.get(source)?.html ?? '').matchAll(/ (?:href|src|srcset)="(?!https?:)([^"]*)"/g);
    return Array.from(links, ([, address = '']) => address)
      .filter((address) => {
        const [file = '', anchor] = address.split('#');
        const target = ids.get(file === '' ? `${name}.html` : file);
        if (target === undefined) return !files.has(file);
        return anchor !== undefined && !target.has(decodeURIComponent(anchor));
      })
      .map((address) => `${source}: ${address}`);
  });
}
