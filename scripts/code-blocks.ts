// Finds the code blocks of the documents. `tests/docs` runs every block that has no mark.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { PAGES } from '@footbridge/site/contents';

export interface CodeBlock {
  /** The page's path in the repository. */
  readonly page: string;
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** From the comment in the line before the block. */
  readonly mark?: Mark;
}

/** `<!-- run by FILE -->`: another test reads the page and runs the block. `<!-- not run: REASON -->`: no test runs it. */
export type Mark =
  | { readonly kind: 'run by'; readonly file: string }
  | { readonly kind: 'not run'; readonly reason: string };

/** The languages that `tests/docs` runs. */
export const RUNNABLE: ReadonlySet<string> = new Set(['bash', 'ini', 'js', 'text', 'ts']);

/** The accepted reasons for not running a block. */
const REASONS: ReadonlySet<string> = new Set([
  'diagram',
  'sample output',
  'needs a Mac',
  'needs a cluster',
  'needs a public address',
  'needs root',
  'needs servers',
  'takes minutes',
]);

const BLOCK = /(?:^<!-- (.*?) -->\n)?^```(\S*)\n([\s\S]*?)^```$/gm;
const PAGES_WITH_CODE: readonly string[] = ['README.md', ...PAGES.map(({ source }) => source)];

/** Returns the code blocks of a page in order, without indented ones, which `codeBlockReport` reports. */
export function codeBlocksIn(page: string, markdown: string): CodeBlock[] {
  return [...markdown.matchAll(BLOCK)].map(
    ({ 0: all, 1: comment = '', 2: language = '', 3: code = '', index }) => {
      const mark = markIn(comment);
      const before = markdown.slice(0, index + all.indexOf('```'));
      const block = { page, line: before.split('\n').length, language, code };
      return mark === undefined ? block : { ...block, mark };
    },
  );
}

function markIn(comment: string): Mark | undefined {
  const [, file] = /^run by (\S+)$/.exec(comment) ?? [];
  if (file !== undefined) return { kind: 'run by', file };
  const [, reason] = /^not run: (.+)$/.exec(comment) ?? [];
  return reason === undefined ? undefined : { kind: 'not run', reason };
}

/** Returns the code blocks of the README and of every page of the site. */
export const codeBlocks = (root: string): CodeBlock[] =>
  PAGES_WITH_CODE.flatMap((page) => codeBlocksIn(page, readFileSync(join(root, page), 'utf8')));

/** Returns a one-line summary, and a line for each invalid block or mark. */
export function codeBlockReport(root: string): {
  readonly summary: string;
  readonly faults: readonly string[];
} {
  const blocks = codeBlocks(root);
  const reasons = new Map<string, number>();
  for (const { mark } of blocks)
    if (mark?.kind === 'not run') reasons.set(mark.reason, (reasons.get(mark.reason) ?? 0) + 1);
  const marked = [...reasons.values()].reduce((sum, count) => sum + count, 0);
  const why = [...reasons].map(([reason, count]) => `${reason} ${count}`).toSorted();
  return {
    summary: `${blocks.length} code blocks: ${blocks.length - marked} executed, ${marked} marked (${why.join(', ')})`,
    faults: [
      ...blocks.flatMap((block) => {
        const fault = faultOf(root, block);
        return fault === undefined ? [] : [`${block.page}:${block.line}: ${fault}`];
      }),
      ...PAGES_WITH_CODE.flatMap((page) => strayMarks(page, readFileSync(join(root, page), 'utf8'))),
    ],
  };
}

function faultOf(root: string, { page, language, mark }: CodeBlock): string | undefined {
  if (mark === undefined)
    return RUNNABLE.has(language)
      ? undefined
      : `the block is not run; use one of ${[...RUNNABLE].join(', ')}, or put <!-- not run: REASON --> on the line before it`;
  if (mark.kind === 'not run')
    return REASONS.has(mark.reason)
      ? undefined
      : `"${mark.reason}" is not one of the reasons: ${[...REASONS].join(', ')}`;
  const file = join(root, mark.file);
  const name = page.split('/').at(-1) ?? page;
  return existsSync(file) && readFileSync(file, 'utf8').includes(name)
    ? undefined
    : `${mark.file} does not read this page`;
}

/** Marks and fences that are not part of a block that was found, for example because of an empty line between them. */
function strayMarks(page: string, markdown: string): string[] {
  return markdown
    .replaceAll(BLOCK, (block) => '\n'.repeat(block.split('\n').length - 1))
    .split('\n')
    .flatMap((line, index) =>
      /^\s*(?:<!-- (?:run by|not run)|```|~~~)/.test(line)
        ? [
            `${page}:${index + 1}: no code block found here; a block must not be indented, and its mark must be on the line before it: ${line.trim()}`,
          ]
        : [],
    );
}
