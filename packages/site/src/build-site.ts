// Builds the documentation as a static site. Needs the development dependencies; the service only serves the built files.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { buildPage } from '@footbridge/ui/build-page';

import { CONTENTS, FILES, PAGES } from './contents.ts';
import type { Page } from './contents.ts';
import { fillLayout } from './layout.ts';
import { llmsFullText, llmsText } from './llms-text.ts';
import { withoutComments } from './render-markdown.ts';
import { deadLinks, renderPages, siteAddress } from './render-pages.ts';

type Files = Map<string, string | Buffer>;

/** Some pages have links without a target. */
export class DeadLinksError extends Error {
  override readonly name = 'DeadLinksError';
}

/** Returns the files of the site by name, with `documents` added. All files are in one folder, so links between them are relative. */
export async function buildSite(root: string, documents: Readonly<Record<string, string>>): Promise<Files> {
  const files: Files = new Map(Object.entries(documents));
  for (const [source, name] of Object.entries(FILES)) files.set(name, await readFile(join(root, source)));
  const sources = new Map<string, string>();
  for (const { source } of PAGES) sources.set(source, await readFile(join(root, source), 'utf8'));
  const rendered = renderPages(sources);
  const dead = deadLinks(rendered);
  if (dead.length > 0) throw new DeadLinksError(`Links without a target:\n${dead.join('\n')}`);
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
  // A script instead of JSON, so that the search also works when the site is opened from disk.
  files.set('search-index.js', `globalThis.footbridgeSections=${JSON.stringify(sections)};\n`);
  files.set('llms.txt', llmsText(CONTENTS));
  files.set(
    'llms-full.txt',
    llmsFullText(PAGES, (page) => withoutComments(markdownOf(page, sources))),
  );
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
    // Modules and requests with `crossorigin` do not work in a page that is opened from disk.
    else files.set(name, type.startsWith('text/javascript') ? `(()=>{${body}})();\n` : body);
  }
  return layout.replace('type="module" ', '').replaceAll(' crossorigin', '');
}

/** Returns the markdown of a page, with its links pointing to the markdown files of the site. */
const markdownOf = ({ source }: Page, sources: ReadonlyMap<string, string>): string =>
  (sources.get(source) ?? '').replaceAll(
    /\]\((?!https?:|#)([^)]*)\)/g,
    (_all, address: string) => `](${siteAddress(source, address).replace('.html', '.md')})`,
  );
