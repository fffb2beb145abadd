import { styleText } from 'node:util';

import type { CheckResult, State } from '@footbridge/conformance/check';
import { countOf, verdictOf } from '@footbridge/conformance/report';
import type { ConformanceReport } from '@footbridge/conformance/report';
import { counted } from '@footbridge/runtime/counted';
import { printable } from '@footbridge/runtime/printable';

import { EXIT, ExitError } from '../cli-error.ts';
import type { OutStream } from '../io.ts';
import type { Output } from '../output.ts';

const MARKS = {
  pass: ['green', '✔'],
  warn: ['yellow', '⚠'],
  fail: ['red', '✖'],
  not_tried: ['dim', '○'],
} as const satisfies Readonly<Record<State, unknown>>;

/** Prints one line for a passed check; otherwise also what was expected, what was seen and what to do. */
export function printResult(output: Output, result: CheckResult): void {
  const { id, title, state, expected, seen, next = '' } = result;
  const [style, mark] = MARKS[state];
  const lines = [
    `${styleText(style, mark)} ${id.padEnd(4)}${title}${state === 'not_tried' ? ': not tried' : ''}`,
  ];
  if (state === 'fail' || state === 'warn') lines.push(`      Expected: ${expected}`);
  if (state !== 'pass') lines.push(`      Seen: ${printable(seen)}`, `      Next: ${printable(next)}`);
  output.result(lines.join('\n'), { ...result });
}

/** Prints the totals. Throws an ExitError if a check failed. */
export function printVerdict(output: Output, report: ConformanceReport): void {
  const [pass, warn, fail, notTried] = (['pass', 'warn', 'fail', 'not_tried'] as const).map((state) =>
    countOf(report, state),
  ) as [number, number, number, number];
  output.result(
    `\n${verdictOf(report)}: ${fail} failed, ${counted(warn, 'warning')}, ${notTried} not tried.`,
    { verdict: verdictOf(report), pass, warn, fail, notTried },
  );
  if (fail > 0) throw new ExitError(EXIT.checkFailed);
}

/** Prints which messages to send from the CRM. */
export function printInstructions(stderr: OutStream, texts: readonly string[], waitSec: number): void {
  stderr.write(
    `\nSend these ${texts.length} texts from the CRM to the test contact, each as its own message, in any order, within ${waitSec} s.\nCopy them exactly, including line breaks:\n`,
  );
  for (const text of texts) stderr.write(`\n${text}\n`);
  stderr.write('\nWaiting for the webhooks …\n');
}
