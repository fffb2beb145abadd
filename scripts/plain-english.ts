// Finds words that docs/style.md excludes, in comments, strings and documents.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { filesWithText, lineAt, piecesOf } from './written-text.ts';
import type { Piece } from './written-text.ts';

const NAME_IT = 'name the caller, the Mac, the CRM …';
const ADVICE: readonly (readonly [pattern: RegExp, advice: string])[] = [
  [/\b(?:nobody|somebody|everybody|anybody|whoever|whomever)\b/gi, NAME_IT],
  [/\banew\b/gi, 'write "again"'],
  [/\bdearer\b/gi, 'write "more expensive"'],
  // Allows "there is no", also across lines of a comment, and "is no longer".
  [/\b(?<!\bthere[\s*]+)(?:is|are|was|were) no (?!longer\b|more\b|other\b)/gi, 'write "is not a"'],
];
const ANSWERS = /^\/\*\*[\s*]*Answers\b/;
/** These words are its test data. */
const EXEMPT = 'scripts/plain-english.test.ts';

/** Returns `path:line: …` for each word to avoid. In Markdown, words in backticks are mentioned, not used, and are skipped. */
export function wordsToAvoid(path: string, source: string): string[] {
  // Most files contain none of these words and are not parsed.
  if (ADVICE.every(([pattern]) => source.search(pattern) === -1) && !source.includes('Answers')) return [];
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
  const faults = ADVICE.flatMap(([pattern, advice]) =>
    [...text.matchAll(pattern)].map(({ 0: words, index }) => ({
      offset: start + index,
      advice: `avoid "${words.trim()}": ${advice}`,
    })),
  );
  if (kind !== 'comment' || !ANSWERS.test(text)) return faults;
  const offset = start + text.indexOf('Answers');
  return [
    ...faults,
    { offset, advice: 'begin the doc comment with "Returns" or "Resolves with", not "Answers"' },
  ];
}
