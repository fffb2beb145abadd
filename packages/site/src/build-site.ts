// Makes the documentation a static site. It needs the development dependencies: the service serves the built files.
import { readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';

import { buildPage } from '@footbridge/ui/build-page';

import { CONTENTS, FILES, PAGES } from './contents.ts';
import type { Page } from './contents.ts';
import { fillLayout } from './layout.ts';
import { llmsFullText, llmsText } from './llms-text.ts';
import { renderMarkdown, withoutComments } from './render-markdown.ts';

type Files = Map<string, string | Buffer>;

/** A link whose target is neither a page nor a file of the site, or has no such heading. */
export class DeadLinksError extends Error {
  override readonly name = 'DeadLinksError';
}

/** Returns the files of the site by name, with `documents` added. All are in one folder, so every address is relative. */
export async function buildSite(root: string, documents: Readonly<Record<string, string>>): Promise<Files> {
  const files: Files = new Map(Object.entries(documents));
  for (const [source, name] of Object.entries(FILES)) files.set(name, await readFile(join(root, source)));
  const sources = new Map<string, string>();
  for (const { source } of PAGES) sources.set(source, await readFile(join(root, source), 'utf8'));

  const rendered = new Map(
    [...sources].map(([source, markdown]) => [
      source,
      renderMarkdown(markdown, (address) => siteAddress(source, address)),
    ]),
  );
  const layout = await buildLayout(files);
  for (const page of PAGES) {
    const content = rendered.get(page.source);
    if (content === undefined) throw new Error(`${page.source} was not rendered`);
    files.set(`${page.name}.html`, fillLayout(layout, page, content));
    files.set(`${page.name}.md`, withoutComments(markdownOf(page, sources)));
  }
  const sections = PAGES.flatMap(({ name, title, source }) =>
    (rendered.get(source)?.sections ?? []).map((section) => ({ ...section, page: name, title })),
  );
  // A script and not JSON, so that the search also works in a site that is opened from the disk.
  files.set('search-index.js', `globalThis.footbridgeSections=${JSON.stringify(sections)};\n`);
  files.set('llms.txt', llmsText(CONTENTS));
  files.set(
    'llms-full.txt',
    llmsFullText(PAGES, (page) => withoutComments(markdownOf(page, sources))),
  );
  const dead = deadLinks(files);
  if (dead.length > 0) throw new DeadLinksError(`Links without a target:\n${dead.join('\n')}`);
  return files;
}

/** Adds the script, the style and the icon to the files, and returns the HTML that loads them. */
async function buildLayout(files: Files): Promise<string> {
  const built = await buildPage(join(import.meta.dirname, 'page'));
  let layout = '';
  for (const [path, { type, body }] of built.files) {
    if (path === '/') continue;
    const name = path.replace(/^\/(?:assets\/)?/, '');
    if (name === 'index.html') layout = body.replaceAll('./assets/', '');
    // Modules and requests with `crossorigin` do not work in a page that is opened from the disk.
    else files.set(name, type.startsWith('text/javascript') ? `(()=>{${body}})();\n` : body);
  }
  return layout.replace('type="module" ', '').replaceAll(' crossorigin', '');
}

/** The address in the site of what a page of the repository links to. Addresses of no page stay as they are, for `deadLinks`. */
function siteAddress(source: string, address: string): string {
  const [path = '', anchor] = address.split('#');
  const target = posix.join(posix.dirname(source), path);
  const hash = anchor === undefined ? '' : `#${anchor}`;
  const page = PAGES.find((one) => one.source === target);
  if (page !== undefined) return `${page.name}.html${hash}`;
  // The README of the repository is about the same as the first page.
  if (target === 'README.md') return 'index.html';
  return FILES[target] ?? address;
}

/** The markdown of a page, with links to the other markdown files of the site. */
const markdownOf = ({ source }: Page, sources: ReadonlyMap<string, string>): string =>
  (sources.get(source) ?? '').replaceAll(
    /\]\((?!https?:|#)([^)]*)\)/g,
    (_all, address: string) => `](${siteAddress(source, address).replace('.html', '.md')})`,
  );

function deadLinks(files: Files): string[] {
  const ids = new Map(
    PAGES.map(({ name }) => [
      `${name}.html`,
      new Set(Array.from(String(files.get(`${name}.html`)).matchAll(/ id="([^"]+)"/g), ([, id]) => id)),
    ]),
  );
  return PAGES.flatMap(({ name, source }) =>
    Array.from(
      String(files.get(`${name}.html`)).matchAll(/ (?:href|src|srcset)="(?!https?:)([^"]*)"/g),
      ([, address = '']) => address,
    )
      .filter((address) => {
        const [file, anchor] = address.split('#');
        const target = file === '' ? `${name}.html` : (file ?? '');
        if (!files.has(target)) return true;
        return anchor !== undefined && ids.get(target)?.has(decodeURIComponent(anchor)) !== true;
      })
      .map((address) => `${source}: ${address}`),
  );
}
