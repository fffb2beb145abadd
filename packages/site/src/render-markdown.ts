import MarkdownIt from 'markdown-it';
import type { Token } from 'markdown-it';

import { headingAnchors } from './heading-anchors.ts';

export interface Heading {
  readonly level: number;
  readonly text: string;
  readonly anchor: string;
}

/** A heading and the plain text below it, for the search. */
export interface Section {
  readonly heading: string;
  readonly anchor: string;
  readonly text: string;
}

export interface Rendered {
  readonly html: string;
  readonly headings: readonly Heading[];
  readonly sections: readonly Section[];
}

const COMMENT = /^<!--[\s\S]*?-->\n?/gm;
/** An error code, a setting, a metric, a log event or a command. */
const NAME = /^[A-Za-z][\w.-]{3,}$/;
const ADDRESS = /\b(href|src|srcset)="(?!https?:|#)([^"]*)"/g;

/** Removes comments, which are meant for readers of the source. */
export const withoutComments = (markdown: string): string => markdown.replaceAll(COMMENT, '');

export interface Links {
  /** Maps the relative address of a link or an image to its address in the site. */
  readonly resolve: (address: string) => string;
  /** Returns the title of the page at a relative address. */
  readonly titleOf: (address: string) => string | undefined;
}

export function renderMarkdown(markdown: string, { resolve, titleOf }: Links): Rendered {
  const parser = new MarkdownIt({ html: true });
  const { rules } = parser.renderer;
  // A wide table scrolls, so it must be reachable with the keyboard.
  rules['table_open'] = () => '<div class="table" tabindex="0"><table>\n';
  rules['table_close'] = () => '</table></div>\n';
  rules['fence'] = (tokens, index) =>
    `<pre tabindex="0"><code>${parser.utils.escapeHtml(tokens[index]?.content ?? '')}</code></pre>\n`;

  const tokens = parser.parse(withoutComments(markdown), {});
  nameLinks(tokens, titleOf);
  const anchorOf = headingAnchors();
  const headings = anchorHeadings(tokens, anchorOf);
  const entries = anchorEntries(tokens, anchorOf);
  alignByClass(tokens);
  const html = parser.renderer
    .render(tokens, parser.options, {})
    .replaceAll(ADDRESS, (_all, name: string, address: string) => `${name}="${resolve(address)}"`);
  return { html, headings, sections: [...sectionsOf(tokens, headings), ...entries] };
}

/** Replaces the text of links that show a file name: readers of the site know pages by their titles. */
function nameLinks(tokens: readonly Token[], titleOf: Links['titleOf']): void {
  for (const { children } of tokens)
    for (const [index, token] of (children ?? []).entries()) {
      const text = children?.[index + 1];
      if (token.type !== 'link_open' || text?.content.endsWith('.md') !== true) continue;
      text.content = titleOf(String(token.attrGet('href'))) ?? text.content;
    }
}

/** Sets the id of every heading to its anchor. */
function anchorHeadings(tokens: readonly Token[], anchorOf: (heading: string) => string): Heading[] {
  return tokens.flatMap((token, index) => {
    const inline = tokens[index + 1];
    if (token.type !== 'heading_open' || inline === undefined) return [];
    const text = plainText(inline);
    const anchor = anchorOf(inline.content);
    token.attrSet('id', anchor);
    return [{ level: Number(token.tag.slice(1)), text, anchor }];
  });
}

/** Adds an anchor to every table row that starts with a name in code, so that the search finds a single setting or error code. */
function anchorEntries(tokens: readonly Token[], anchorOf: (heading: string) => string): Section[] {
  return tokens.flatMap((token, index) => {
    const [name, ...others] = tokens[index + 2]?.children ?? [];
    if (token.type !== 'tr_open' || name?.type !== 'code_inline' || others.length > 0) return [];
    if (!NAME.test(name.content)) return [];
    const anchor = anchorOf(name.content);
    token.attrSet('id', anchor);
    const end = tokens.findIndex(({ type }, at) => at > index && type === 'tr_close');
    const cells = tokens.slice(index + 3, end).filter(({ type }) => type === 'inline');
    return [{ heading: name.content, anchor, text: cells.map(plainText).join(' ').trim() }];
  });
}

/** Replaces inline styles with classes: the content security policy of the site does not allow inline styles. */
function alignByClass(tokens: readonly Token[]): void {
  for (const token of tokens)
    token.attrs = (token.attrs ?? []).map(([name, value]) =>
      name === 'style' ? ['class', String(value).replace('text-align:', '')] : [name, value],
    );
}

function sectionsOf(tokens: readonly Token[], headings: readonly Heading[]): Section[] {
  const texts: string[][] = [];
  for (const token of tokens) {
    if (token.type === 'heading_open') texts.push([]);
    const text = token.type === 'inline' ? plainText(token) : token.type === 'fence' ? token.content : '';
    if (text !== '') texts.at(-1)?.push(text);
  }
  return headings.map(({ text, anchor }, index) => ({
    heading: text,
    anchor,
    text: (texts[index] ?? []).slice(1).join(' ').replaceAll(/\s+/g, ' '),
  }));
}

const plainText = ({ children }: Token): string =>
  (children ?? [])
    .map(({ type, content }) => (type === 'softbreak' ? ' ' : type === 'html_inline' ? '' : content))
    .join('');
