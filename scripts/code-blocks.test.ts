import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { PAGES } from '@footbridge/site/contents';
import { afterEach, describe, expect, it } from 'vitest';

import { codeBlockReport, codeBlocksIn } from './code-blocks.ts';

const folders: string[] = [];
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

/** Creates a repository whose README has this text and whose other pages are empty. */
function repository(readme: string, files: Readonly<Record<string, string>> = {}): string {
  const root = mkdtempSync(join(tmpdir(), 'footbridge-'));
  folders.push(root);
  const all = {
    ...Object.fromEntries(PAGES.map(({ source }) => [source, ''])),
    ...files,
    'README.md': readme,
  };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const block = (language: string, mark = '') => `${mark}\`\`\`${language}\nls\n\`\`\`\n`;
const report = (readme: string, files?: Readonly<Record<string, string>>) =>
  codeBlockReport(repository(readme, files));

describe('the code blocks of a page', () => {
  it('codeBlocksIn returns language, line, code and mark of each block', () => {
    const page = `# Title\n\n${block('bash')}\n${block('', '<!-- not run: diagram -->\n')}`;
    expect(codeBlocksIn('README.md', page)).toEqual([
      { page: 'README.md', line: 3, language: 'bash', code: 'ls\n' },
      {
        page: 'README.md',
        line: 8,
        language: '',
        code: 'ls\n',
        mark: { kind: 'not run', reason: 'diagram' },
      },
    ]);
  });
});

describe('the report about code blocks', () => {
  it('counts the executed blocks, and the marked ones by reason', () => {
    const marked =
      block('', '<!-- not run: diagram -->\n') + block('bash', '<!-- not run: needs a Mac -->\n');
    const runElsewhere = block('ts', '<!-- run by tests/one.ts -->\n');
    const found = report(block('bash') + marked + runElsewhere, { 'tests/one.ts': "read('README.md')" });
    expect(found).toEqual({
      summary: '4 code blocks: 2 executed, 2 marked (diagram 1, needs a Mac 1)',
      faults: [],
    });
  });

  it.each([
    ['a block in a language that is not run', block('go'), 'README.md:1: the block is not run'],
    ['a block without a language', block(''), 'README.md:1: the block is not run'],
    ['an unknown reason', block('bash', '<!-- not run: later -->\n'), '"later" is not one of the reasons'],
    [
      'a file that does not read the page',
      block('ts', '<!-- run by tests/no.ts -->\n'),
      'tests/no.ts does not read',
    ],
    [
      'a mark apart from its block',
      block('bash', '<!-- not run: diagram -->\n\n'),
      'README.md:1: no code block',
    ],
    ['an indented block', '- item\n\n  ```bash\n  ls\n  ```\n', 'README.md:3: no code block'],
  ])('reports %s', (_what, readme, fault) => {
    expect(report(readme).faults[0]).toContain(fault);
  });
});
