import { styleText } from 'node:util';

import { counted } from './counted.ts';
import { printable } from './printable.ts';

/** The result of one check of `doctor`, of the service or of a Mac. */
export interface Finding {
  readonly check: string;
  readonly state: 'pass' | 'warn' | 'fail';
  readonly sentence: string;
  /** The one thing to do about a warning or a failure. */
  readonly next?: string;
}

export const pass = (check: string, sentence: string): Finding => ({ check, state: 'pass', sentence });
export const warn = (check: string, sentence: string, next: string): Finding => ({
  check,
  state: 'warn',
  sentence,
  next,
});
export const fail = (check: string, sentence: string, next: string): Finding => ({
  check,
  state: 'fail',
  sentence,
  next,
});

const MARKS = { pass: ['green', '✔'], warn: ['yellow', '⚠'], fail: ['red', '✖'] } as const;

/** Returns the sign before a line that says how something went, in colour if `stream` shows it. */
export function mark(state: Finding['state'], stream: NodeJS.WritableStream = process.stdout): string {
  const [colour, sign] = MARKS[state];
  return styleText(colour, sign, { stream });
}

/** Returns the lines that a terminal shows for each finding, in the same order. */
export function formatFindings(findings: readonly Finding[]): string[] {
  const width = Math.max(...findings.map(({ check }) => check.length));
  return findings.map(({ check, state, sentence, next }) => {
    const line = `${mark(state)} ${check.padEnd(width)}  ${printable(sentence)}`;
    return next === undefined ? line : `${line}\n  ${' '.repeat(width)}  Next: ${printable(next)}`;
  });
}

export interface FindingCounts {
  readonly failures: number;
  readonly warnings: number;
}

export function countFindings(findings: readonly Finding[]): FindingCounts {
  const count = (state: Finding['state']) => findings.filter((finding) => finding.state === state).length;
  return { failures: count('fail'), warnings: count('warn') };
}

/** For example `1 failure, 2 warnings.` */
export const formatCounts = ({ failures, warnings }: FindingCounts): string =>
  `${counted(failures, 'failure')}, ${counted(warnings, 'warning')}.`;
