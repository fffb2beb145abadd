// Words that plain technical English does without (docs/style.md), in comments, strings and documents.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { filesWithText, lineAt, piecesOf } from './written-text.ts';
import type { Piece } from './written-text.ts';

const VAGUE = /\b(?:nobody|somebody|everybody|whoever|anew)\b/gi;
const ANSWERS = /^\/\*\*[\s*]*Answers\b/;
/** These words are its test data. */
const EXEMPT = 'scripts/plain-english.test.ts';

/** `path:line: …` for each word to avoid. In Markdown, a word in backticks is being talked about and is not one. */
export function wordsToAvoid(path: string, source: string): string[] {
  // Most files have none of them anywhere and need not be parsed.
  if (source.search(VAGUE) === -1 && !source.includes('Answers')) return [];
  return piecesOf(path, source)
    .filter(({ kind }) => kind !== 'title')
    .flatMap(faultsIn)
    .map(({ offset, advice }) => `${path}:${lineAt(source, offset)}: ${advice}`);
}

/** The same over the whole repository. */
export function wordsToAvoidIn(root: string): string[] {
  return filesWithText(root)
    .filter((path) => path !== EXEMPT)
    .flatMap((path) => wordsToAvoid(path, readFileSync(join(root, path), 'utf8')));
}

function faultsIn({ kind, text, start }: Piece): { offset: number; advice: string }[] {
  const vague = [...text.matchAll(VAGUE)].map(({ 0: word, index }) => ({
    offset: start + index,
    advice: `"${word}" is vague: ${/^anew$/i.test(word) ? 'write "again"' : 'name the caller, the Mac, the CRM …'}`,
  }));
  if (kind !== 'comment' || !ANSWERS.test(text)) return vague;
  const offset = start + text.indexOf('Answers');
  return [
    ...vague,
    { offset, advice: 'begin the doc comment with "Returns" or "Resolves with", not "Answers"' },
  ];
}
