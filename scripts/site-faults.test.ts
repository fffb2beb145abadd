import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { PAGES } from '@footbridge/site/contents';
import { afterAll, describe, expect, it } from 'vitest';

import { siteFaults } from './site-faults.ts';

const root = mkdtempSync(join(tmpdir(), 'footbridge-'));
afterAll(() => rmSync(root, { recursive: true }));

/** Writes all pages. Pages that are not given have only a heading. */
function write(pages: Readonly<Record<string, string>>): void {
  const all = { ...Object.fromEntries(PAGES.map(({ source }) => [source, '# Title\n'])), ...pages };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

describe('siteFaults', () => {
  it('reports unlisted pages, and links to missing pages, files and headings', () => {
    const links = [
      'cli.md',
      'cli.md#title',
      '#here',
      '../SECURITY.md',
      '../.env.example',
      'https://example.com',
    ];
    const dead = ['no.md', 'cli.md#no', '#no', '../package.json'];
    write({
      'docs/new.md': '# New\n',
      'docs/crm.md': `# Here\n\n${[...links, ...dead].map((link) => `[x](${link})`).join('\n')}\n`,
    });
    expect(siteFaults(root)).toEqual([
      'docs/new.md is not in packages/site/src/contents.ts',
      'link without a target: docs/crm.md: no.md',
      'link without a target: docs/crm.md: cli.html#no',
      'link without a target: docs/crm.md: #no',
      'link without a target: docs/crm.md: ../package.json',
    ]);
  });
});
