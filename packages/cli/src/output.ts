import { styleText } from 'node:util';

import { mark } from '@footbridge/runtime/finding';
import { printable } from '@footbridge/runtime/printable';

import type { CliError } from './cli-error.ts';
import type { OutStream } from './io.ts';

export type Row = Readonly<Record<string, unknown>>;

export interface Column<R> {
  readonly title: string;
  readonly value: (row: R) => string;
}

/** Writes results to stdout: tables and sentences to a terminal, one JSON object per line otherwise. Hints and errors go to stderr. */
export interface Output {
  readonly json: boolean;
  rows<R extends object>(rows: readonly R[], columns: readonly Column<R>[], whenEmpty: string): void;
  /** Writes one result: `sentence` to a terminal, otherwise `data` as JSON. */
  result(sentence: string, data: Row): void;
  /** Writes a hint to a terminal. Omitted from JSON output. */
  hint(text: string): void;
  error(error: CliError): void;
}

export function createOutput(
  options: { readonly json: boolean; readonly quiet: boolean },
  stdout: OutStream,
  stderr: OutStream,
): Output {
  const json = options.json || stdout.isTTY !== true;
  const print = (text: string) => void stdout.write(`${text}\n`);
  const warn = (text: string) => void stderr.write(`${text}\n`);

  return {
    json,
    rows(rows, columns, whenEmpty) {
      if (json) for (const row of rows) print(JSON.stringify(row));
      else if (rows.length === 0) warn(whenEmpty);
      else print(table(rows, columns));
    },
    result: (sentence, data) => print(json ? JSON.stringify(data) : sentence),
    hint(text) {
      if (!json && !options.quiet) warn(styleText('dim', text, { stream: process.stderr }));
    },
    error({ message, next, code }) {
      if (json) warn(JSON.stringify({ error: message, code, next }));
      else warn(`${mark('fail', process.stderr)} ${printable(message)}`);
      if (!json && next !== undefined) warn(`  Next: ${next}`);
    },
  };
}

function table<R>(rows: readonly R[], columns: readonly Column<R>[]): string {
  const cells = rows.map((row) => columns.map(({ value }) => printable(value(row))));
  const widths = columns.map(({ title }, at) =>
    Math.max(title.length, ...cells.map((row) => row[at]?.length ?? 0)),
  );
  const line = (texts: readonly string[]) =>
    texts
      .map((text, at) => text.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd();
  const head = styleText('bold', line(columns.map(({ title }) => title)), { stream: process.stdout });
  return [head, ...cells.map(line)].join('\n');
}
