// Finds the text that people read in the repository's files: comments, strings, test titles and prose.
import { globSync } from 'node:fs';

import { parseSync, Visitor } from 'oxc-parser';
import type { Expression, Span, StringLiteral, TemplateLiteral } from 'oxc-parser';

export type PieceKind = 'comment' | 'string' | 'title' | 'prose';

/** A test title is reported as `title` and also as `string`. */
export interface Piece {
  readonly kind: PieceKind;
  /** As it is in the file, with comment markers or quotes. */
  readonly text: string;
  /** Its offset in the file. */
  readonly start: number;
}

const FILES = '**/*.{ts,tsx,mjs,lua,md}';
const SKIPPED = new Set(['node_modules', 'dist', 'data', 'artefacts']);
const TEST_FUNCTIONS = new Set(['describe', 'it', 'test']);

/** Paths of the files that hold such text, relative to the root, with forward slashes. */
export function filesWithText(root: string): string[] {
  return globSync(FILES, { cwd: root, exclude: (name) => SKIPPED.has(name) })
    .map((path) => path.replaceAll('\\', '/'))
    .sort();
}

/** The pieces of one file. Markdown outside code, Lua comments, everything else is parsed as TypeScript. */
export function piecesOf(path: string, source: string): Piece[] {
  if (path.endsWith('.md')) return [{ kind: 'prose', text: withoutCode(source), start: 0 }];
  if (path.endsWith('.lua'))
    return [...source.matchAll(/--.*/g)].map(({ 0: text, index }) => ({
      kind: 'comment',
      text,
      start: index,
    }));
  return piecesOfScript(path, source);
}

/** The number of the line in which an offset is, counted from 1. */
export const lineAt = (source: string, offset: number): number => source.slice(0, offset).split('\n').length;

function piecesOfScript(path: string, source: string): Piece[] {
  const { program, comments, errors } = parseSync(path, source);
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]?.message}`);
  const at = (kind: PieceKind, { start, end }: Span): Piece => ({
    kind,
    text: source.slice(start, end),
    start,
  });
  const pieces = comments.map((comment) => at('comment', comment));
  new Visitor({
    Literal: (node) => {
      if (typeof node.value === 'string') pieces.push(at('string', node));
    },
    TemplateElement: (node) => {
      pieces.push(at('string', node));
    },
    JSXText: (node) => {
      pieces.push(at('string', node));
    },
    CallExpression: ({ callee, arguments: [first] }) => {
      if (first !== undefined && isText(first) && TEST_FUNCTIONS.has(rootName(callee)))
        pieces.push(at('title', first));
    },
  }).visit(program);
  return pieces;
}

const isText = (node: { type: string }): node is StringLiteral | TemplateLiteral =>
  node.type === 'Literal' || node.type === 'TemplateLiteral';

/** `it` of `it(…)`, `it.each(…)(…)` and `describe.skipIf(…)(…)`. */
function rootName(callee: Expression): string {
  if (callee.type === 'Identifier') return callee.name;
  if (callee.type === 'MemberExpression') return rootName(callee.object);
  if (callee.type === 'CallExpression') return rootName(callee.callee);
  if (callee.type === 'TaggedTemplateExpression') return rootName(callee.tag);
  return '';
}

/** Code is replaced by spaces, so that offsets stay right. */
function withoutCode(markdown: string): string {
  const blank = (code: string) => code.replace(/[^\n]/g, ' ');
  return markdown.replace(/^(```|~~~)[\s\S]*?^\1/gm, blank).replace(/(`+)(?!`)[\s\S]*?[^`]\1(?!`)/g, blank);
}
