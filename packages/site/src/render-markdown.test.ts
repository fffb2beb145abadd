import { describe, expect, it } from 'vitest';

import { renderMarkdown } from './render-markdown.ts';

const render = (markdown: string) =>
  renderMarkdown(markdown, {
    resolve: (address) => `site/${address}`,
    titleOf: (address) => (address.startsWith('b.md') ? 'The title' : undefined),
  });

describe('a rendered page', () => {
  it('has relative links resolved, and other links unchanged', () => {
    const { html } = render('[a](b.md#c) ![d](e.png) [f](https://example.com) [g](#h)');
    for (const address of ['site/b.md#c', 'site/e.png', 'https://example.com', '#h'])
      expect(html).toContain(`="${address}"`);
  });

  it('shows the title of a page instead of its file name', () => {
    const { html } = render('[b.md](b.md#c) [docs/b.md](b.md) [`x.md`](x.md) [see b](b.md)');
    const texts = Array.from(html.matchAll(/>([^<>]+)<\/(?:a|code)>/g), ([, text]) => text);
    expect(texts).toEqual(['The title', 'The title', 'x.md', 'see b']);
  });

  it('has the same anchors as on GitHub, numbered for repeated headings', () => {
    const { headings } = render('# A title\n\n## `POST /x`, again\n\n## Same\n\n## Same\n');
    expect(headings).toEqual([
      { level: 1, text: 'A title', anchor: 'a-title' },
      { level: 2, text: 'POST /x, again', anchor: 'post-x-again' },
      { level: 2, text: 'Same', anchor: 'same' },
      { level: 2, text: 'Same', anchor: 'same-1' },
    ]);
  });

  it('has no comments, and escapes code', () => {
    const { html } = render('<!-- not run: diagram -->\n```\n<script>\n```\n');
    expect(html).toBe('<pre tabindex="0"><code>&lt;script&gt;\n</code></pre>\n');
  });

  it('has an anchor and a search entry for every table row that starts with a name', () => {
    const { html, sections } = render(
      '# One\n\n| code | |\n|---|--:|\n| `NO_TOKEN` | wait |\n| other | x |\n',
    );
    expect(html).toContain('<tr id="no_token">');
    expect(html).toContain('<td class="right">wait</td>');
    expect(sections.slice(1)).toEqual([{ heading: 'NO_TOKEN', anchor: 'no_token', text: 'wait' }]);
  });

  it('has a search entry for each section, with the text of tables and code', () => {
    const { sections } = render(
      '# One\n\nA *word*\nand `code`.\n\n| a |\n|---|\n| cell |\n\n## Two\n\n```\nrun\n```\n',
    );
    expect(sections).toEqual([
      { heading: 'One', anchor: 'one', text: 'A word and code. a cell' },
      { heading: 'Two', anchor: 'two', text: 'run ' },
    ]);
  });
});
