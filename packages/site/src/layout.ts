import { CONTENTS, PAGES } from './contents.ts';
import type { Page } from './contents.ts';
import type { Heading, Rendered } from './render-markdown.ts';

/** Puts a rendered page into the layout of `page/index.html`. */
export function fillLayout(layout: string, page: Page, { html, headings }: Rendered): string {
  const parts: Readonly<Record<string, string>> = {
    title: page.name === 'index' ? 'Footbridge' : `${page.title} · Footbridge`,
    markdown: `<link rel="alternate" type="text/markdown" href="${page.name}.md" />`,
    menu: menu(page),
    content: html,
    outline: outline(headings),
    neighbours: neighbours(page),
  };
  return layout.replaceAll(/<!-- (\w+) -->|\{\{(\w+)\}\}/g, (all, block: string, word: string) => {
    return parts[block ?? word] ?? all;
  });
}

const menu = (current: Page): string =>
  Object.entries(CONTENTS)
    .map(([group, pages]) => `<h2>${group}</h2><ul>${pages.map((one) => item(one, current)).join('')}</ul>`)
    .join('\n');

const item = ({ name, title }: Page, current: Page): string =>
  `<li><a href="${name}.html"${name === current.name ? ' aria-current="page"' : ''}>${title}</a></li>`;

/** Lists the second-level headings, if there are several. */
function outline(headings: readonly Heading[]): string {
  const shown = headings.filter(({ level }) => level === 2);
  if (shown.length < 2) return '';
  const items = shown.map(({ anchor, text }) => `<li><a href="#${anchor}">${escaped(text)}</a></li>`);
  return `<nav class="outline" aria-label="On this page"><h2>On this page</h2><ul>${items.join('')}</ul></nav>`;
}

function neighbours(page: Page): string {
  const index = PAGES.indexOf(page);
  const link = (one: Page | undefined, label: string) =>
    one === undefined
      ? '<span></span>'
      : `<a href="${one.name}.html"><small>${label}</small> ${one.title}</a>`;
  return `${link(PAGES[index - 1], 'Previous')}${link(PAGES[index + 1], 'Next')}`;
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
