// Clauses (docs/contract.md) and threats (SECURITY.md) have numbers that code, tests and documents refer to.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { filesWithText, lineAt, piecesOf } from './written-text.ts';

export const CONTRACT = 'docs/contract.md';
export const THREATS = 'SECURITY.md';

const HEADING = /^### ([A-Z]\d{1,2}) (.+)$/gm;
/** Names that look like the number of a rule. At the start of a test title they would count as one. */
const OTHER_NAMES = new Set(['V8']);

/** Number → title, in the order of the page. Throws when a number has two headings. */
export function rulesOf(page: string): Map<string, string> {
  const rules = new Map<string, string>();
  for (const [, number = '', title = ''] of page.matchAll(HEADING)) {
    if (rules.has(number)) throw new Error(`${number} has two headings`);
    rules.set(number, title);
  }
  return rules;
}

/** The clauses that are marked as not built as a whole, in the order of the page. */
export function clausesNotBuilt(page: string): string[] {
  const sections = page.split(/^(?=### )/m);
  return sections
    .filter((section) => /^\*Not built yet\.\*$/m.test(section))
    .map((section) => [...rulesOf(section).keys()][0] ?? '');
}

/** Returns `path:line` of every unknown number in comments, test titles and prose. */
export function unknownNumbers(path: string, source: string, known: ReadonlySet<string>): string[] {
  const letters = new Set([...known].map((number) => number.charAt(0)));
  const reference = new RegExp(`\\b[${[...letters].join('')}]\\d{1,2}\\b`, 'g');
  const unknownIn = (text: string, start: number) =>
    [...text.matchAll(reference)]
      .map(({ 0: number, index }) => ({ number, offset: start + index }))
      .filter(({ number }) => !known.has(number));
  // Most files have no such number anywhere and need not be parsed.
  if (unknownIn(source, 0).length === 0) return [];
  return piecesOf(path, source)
    .filter(({ kind }) => kind !== 'string')
    .flatMap(({ kind, text, start }) =>
      unknownIn(text, start).filter(
        ({ number, offset }) => !OTHER_NAMES.has(number) || (kind === 'title' && offset === start + 1),
      ),
    )
    .map(({ number, offset }) => `${path}:${lineAt(source, offset)}: there is no ${number}`);
}

/** The same over the whole repository, with the numbers that its two pages define. */
export function unknownNumbersIn(root: string): string[] {
  const read = (path: string) => readFileSync(join(root, path), 'utf8');
  const known = new Set([CONTRACT, THREATS].flatMap((path) => [...rulesOf(read(path)).keys()]));
  return filesWithText(root).flatMap((path) => unknownNumbers(path, read(path), known));
}

/** tests/contract/clauses.json */
export function clausesJson(root: string): string {
  const clauses = rulesOf(readFileSync(join(root, CONTRACT), 'utf8'));
  return `${JSON.stringify(Object.fromEntries(clauses), null, 2)}\n`;
}
