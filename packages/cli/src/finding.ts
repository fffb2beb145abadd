import { styleText } from 'node:util';

import { printable } from '@footbridge/runtime/printable';

import { EXIT, ExitError } from './cli-error.ts';
import type { Output } from './output.ts';

/** The result of one check. `remedy` is the one thing to do about a warning or a failure. */
export interface Finding {
  readonly check: string;
  readonly state: 'pass' | 'warn' | 'fail';
  readonly sentence: string;
  readonly remedy?: string;
}

export const pass = (check: string, sentence: string): Finding => ({ check, state: 'pass', sentence });
export const warn = (check: string, sentence: string, remedy: string): Finding => ({
  check,
  state: 'warn',
  sentence,
  remedy,
});
export const fail = (check: string, sentence: string, remedy: string): Finding => ({
  check,
  state: 'fail',
  sentence,
  remedy,
});

const MARKS = { pass: ['green', '✔'], warn: ['yellow', '⚠'], fail: ['red', '✖'] } as const;

/** Prints all findings and their number. Throws an ExitError if one failed. */
export function printFindings(output: Output, findings: readonly Finding[]): void {
  const width = Math.max(...findings.map(({ check }) => check.length));
  for (const finding of findings) {
    const [colour, mark] = MARKS[finding.state];
    const line = `${styleText(colour, mark)} ${finding.check.padEnd(width)}  ${printable(finding.sentence)}`;
    const remedy = finding.remedy === undefined ? '' : `\n  ${' '.repeat(width)}  Next: ${finding.remedy}`;
    output.result(line + remedy, { ...finding });
  }
  const count = (state: Finding['state']) => findings.filter((finding) => finding.state === state).length;
  const failures = count('fail');
  output.hint(`${plural(failures, 'failure')}, ${plural(count('warn'), 'warning')}.`);
  if (failures > 0) throw new ExitError(EXIT.checkFailed);
}

const plural = (count: number, word: string) => `${count} ${word}${count === 1 ? '' : 's'}`;
